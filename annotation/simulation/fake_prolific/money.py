"""Money on the fake Prolific: bonuses in two steps, costs, balance, what should be paid."""

from typing import Any

from annotation.simulation.fake_prolific.books import Books, new_id
from annotation.simulation.fake_prolific.rules import PAY, FakeError, cents_of, fee_on, is_whole


class Money(Books):
    """What a researcher's program pays and asks about payment, over the books."""

    def create_bonuses(self, body: dict[str, Any]) -> dict[str, Any]:
        """Check a batch of bonuses, line by line; nothing is paid yet. Amounts are in cents."""
        with self._open() as data:
            study_id = self._study(str(body.get("study_id")))["id"]
            lines, wrong = [], []
            for number, line in enumerate(str(body.get("csv_bonuses") or "").splitlines(), 1):
                who, _, amount = (part.strip() for part in line.partition(","))
                if not line.strip():
                    continue
                theirs = [
                    each for each in self._of(study_id) if who in (each["participant"], each["id"])
                ]
                cents = cents_of(amount)
                if not theirs:
                    wrong.append(f"line {number}: {who!r} has no submission in this study")
                elif cents is None:
                    wrong.append(
                        f"line {number}: {amount!r} is no amount above 0 with at most two decimals"
                    )
                else:
                    lines.append([theirs[-1]["id"], cents])
            if wrong or not lines:
                raise FakeError(400, {"csv_bonuses": wrong or ["no line in it"]})
            batch = {"id": new_id(), "study": study_id, "lines": lines, "paid": 0}
            data["batches"][batch["id"]] = batch
            amount = sum(cents for _, cents in lines)
            money = {"amount": amount, "fees": fee_on(amount), "vat": 0}
            return {
                **money,
                "id": batch["id"],
                "study": study_id,
                "total_amount": sum(money.values()),
            }

    def pay_bonuses(self, batch_id: str) -> str:
        """Move the money of a batch, again if asked again; without the mode `pay_again` once."""
        with self._open() as data:
            batch = self._one("batches", batch_id)
            if batch["paid"] and not self.modes["pay_again"]:
                raise FakeError(400, f"bulk bonus payment {batch_id} was already paid")
            batch["paid"] += 1
            for submission_id, cents in batch["lines"]:
                submission = data["submissions"][submission_id]
                submission["bonus_payments"].append(cents)
                self._pay("bonus", cents, submission)
            return f"Bulk bonus payment with ID {batch_id} is being processed."

    def cost(self, study_id: str, is_projected: bool = False) -> dict[str, Any]:
        """What the study has cost so far, in cents, with fees; or when all places are paid."""
        with self._open() as data:
            study = self._study(study_id)
            paid: dict[str, list[int]] = {"rewards": [], "bonuses": []}
            for entry in data["entries"]:
                if entry["study"] == study_id:
                    paid["bonuses" if entry["kind"] == "bonus" else "rewards"].append(
                        entry["cents"]
                    )
            if is_projected:
                paid["rewards"] = [study["reward"]] * study["total_available_places"]
            currency, total = study["currency_code"], 0
            costs: dict[str, Any] = {}
            for kind, amounts in paid.items():
                parts = {"rewards": sum(amounts), "fees": sum(map(fee_on, amounts)), "tax": 0}
                costs[kind] = {
                    name: {"amount": part, "currency": currency} for name, part in parts.items()
                }
                total += sum(parts.values())
            return {**costs, "total_cost": {"amount": total, "currency": currency}}

    def calculate_cost(self, body: dict[str, Any]) -> dict[str, int]:
        reward, places = body.get("reward"), body.get("total_available_places")
        if not is_whole(reward) or not is_whole(places):
            raise FakeError(400, {"reward": ["reward and total_available_places are required"]})
        place = int(str(reward)) + fee_on(int(str(reward)))
        return {"total_cost": place * int(str(places))}

    def balance(self, workspace_id: str) -> dict[str, Any]:
        """What the workspace has, and has free, in cents."""
        with self._open():
            self._one("workspaces", workspace_id)
            total, available = self._balance()
            return {
                "currency_code": self.modes["currency"],
                "total_balance": total,
                "balance_breakdown": _broken_down(total),
                "available_balance": available,
                "available_balance_breakdown": _broken_down(available),
            }

    def recommendations(self, query: dict[str, str]) -> list[dict[str, Any]]:
        """The least and the recommended reward of an hour, in cents; the newest first."""
        with self._open():
            self._one("workspaces", query.get("workspace_id", ""))
            currency = query.get("currency", "")
            if currency not in PAY:
                raise FakeError(400, {"currency": [f"must be one of {', '.join(PAY)}"]})
            least, recommended, _ = PAY[currency]
            rates = {"min_reward_per_hour": least, "recommended_reward_per_hour": recommended}
            return [{"currency": currency, **rates}]


def _broken_down(cents: int) -> dict[str, int]:
    rewards = cents * 3 // 4
    return {"rewards": rewards, "fees": cents - rewards, "vat": 0}

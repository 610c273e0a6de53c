"""The double's API calls for a researcher's program, one method per call."""

import time
from urllib.parse import urlencode

from tests.prolific_double import rules
from tests.prolific_double.books import iso, new_id
from tests.prolific_double.people import People
from tests.prolific_double.rules import FakeError, fee_on
from tests.prolific_double.site import Server, Site

TRANSITIONS = {
    ("UNPUBLISHED", "PUBLISH"): "ACTIVE",
    ("PAUSED", "START"): "ACTIVE",
    ("ACTIVE", "PAUSE"): "PAUSED",
    ("ACTIVE", "STOP"): "COMPLETED",
    ("PAUSED", "STOP"): "COMPLETED",
}
PUBLIC = {"is_custom_screening": False, "publish_at": None, "published_at": None}
CATEGORIES = {
    *("TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK"),
    *("LOW_EFFORT", "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER"),
}


class FakeProlific(People):
    """The platform. `app` is its WSGI application, and `now` returns the time in seconds."""

    def __init__(self, token="fake-token", now=time.time):
        super().__init__(token, now)
        self.app = Site(self)
        self.first_workspace = self.create_workspace("My workspace")
        self.create_project(self.first_workspace, "Project")

    def serve(self) -> Server:
        """Serve on 127.0.0.1 in background threads."""
        return Server(self.app)

    # Account -------------------------------------------------------------------------------------

    def me(self):
        researcher = {"name": "A researcher", "email": "researcher@example.org"}
        return {"id": self._owner, **researcher, "currency_code": self.modes["currency"]}

    def workspaces(self):
        user = {name: self.me()[name] for name in ("id", "name", "email")}
        return [
            {**each, "users": [{**user, "roles": ["WORKSPACE_ADMIN"]}],
             "projects": self.projects(each["id"]), "currency_code": self.modes["currency"]}
            for each in self._workspaces.values()
        ]  # fmt: skip

    def create_workspace(self, title) -> str:
        key = new_id()
        self._workspaces[key] = {"id": key, "title": title, "owner": self._owner}
        return key

    def projects(self, workspace_id):
        self._one("workspaces", workspace_id)
        return [
            {**each, "public_details": None}
            for each in self._projects.values()
            if each["workspace"] == workspace_id
        ]

    def create_project(self, workspace_id, title) -> str:
        project = {"id": new_id(), "title": title, "type": "PRIVATE", "owner": self._owner}
        self._projects[project["id"]] = {**project, "workspace": workspace_id}
        return project["id"]

    def balance(self, workspace_id):
        self._one("workspaces", workspace_id)
        cents = {"rewards": 7_500_000, "fees": 2_500_000, "vat": 0}
        return {
            "currency_code": self.modes["currency"],
            "total_balance": sum(cents.values()),
            "balance_breakdown": cents,
            "available_balance": sum(cents.values()),
            "available_balance_breakdown": cents,
        }

    def recommendations(self, query):
        currency = query["currency"]
        least, recommended, _ = rules.PAY[currency]
        rates = {"min_reward_per_hour": least, "recommended_reward_per_hour": recommended}
        return [{"currency": currency, **rates}]

    def jwks(self):
        return self._signer.jwks()

    def token_of(self, claims):
        """Return a token with these claims, signed like the tokens of study links."""
        return self._signer.token(claims)

    # Audience ------------------------------------------------------------------------------------

    def filters(self):
        return rules.listed_filters({key: each["name"] for key, each in self._groups.items()})

    def eligible(self, body):
        """Return the number of eligible people, which each filter halves."""
        filters = body.get("filters", [])
        if told := list(rules.about_filters(filters, self._groups)):
            raise FakeError(400, {"filters": told})
        count = rules.POPULATION // 2 ** len(filters)
        return {"count": count if count >= rules.FEWEST else 0}

    def cost(self, body):
        place = body["reward"] + fee_on(body["reward"])
        return {"total_cost": place * body["total_available_places"]}

    # Studies -------------------------------------------------------------------------------------

    def create_study(self, body):
        study = {
            "internal_name": "",
            "external_study_url": "",
            "filters": [],
            "is_external_study_url_secure": False,
            "maximum_allowed_time": rules.LONGEST,
            "project": next(iter(self._projects)),
            **PUBLIC,
            **body,
            "id": new_id(),
            "status": "UNPUBLISHED",
            "date_created": iso(self._clock()),
            "currency_code": self.modes["currency"],
        }
        wrong = rules.complaints_about(study, self._groups, self.modes["currency"])
        if study["is_external_study_url_secure"] and self.modes["signing"] != "on":
            wrong["is_external_study_url_secure"] = ["is not available to this workspace"]
        has_screen_out = "FIXED_SCREEN_OUT_PAYMENT" in str(study.get("completion_codes"))
        if has_screen_out and not self.modes["screen_out"]:
            wrong["completion_codes"] = ["a paid screen-out is not available here"]
        if study["project"] not in self._projects:
            wrong["project"] = ["no such project"]
        if wrong:
            raise FakeError(400, wrong)
        self._studies[study["id"]] = study
        return self._shown_study(study)

    def studies(self):
        return [self._shown_study(each) for each in self._studies.values()]

    def study(self, study_id):
        return self._shown_study(self._one("studies", study_id))

    def change_study(self, study_id, body):
        """Change a study. Adding places to a completed study makes it active again."""
        study, places = self._one("studies", study_id), body.get("total_available_places", 0)
        if {*body} != {"total_available_places"} or places < study["total_available_places"]:
            raise FakeError(400, {"total_available_places": ["can only be increased"]})
        has_grown = places > study["total_available_places"]
        if has_grown and study["status"] in ("COMPLETED", "AWAITING REVIEW"):
            study["status"] = "ACTIVE"
        study["total_available_places"] = places
        return self._shown_study(study)

    def delete_study(self, study_id):
        if self._one("studies", study_id)["status"] != "UNPUBLISHED":
            raise FakeError(400, "only a draft can be deleted")
        del self._studies[study_id]
        return {}

    def transition_study(self, study_id, body):
        study, action = self._one("studies", study_id), body.get("action")
        status = TRANSITIONS.get((study["status"], action))
        if status is None:
            raise FakeError(400, f"{action} of a study that is {study['status']}")
        if action == "PUBLISH":
            study["published_at"] = iso(self._clock())
        study["status"] = status
        return self._shown_study(study)

    # Submissions ---------------------------------------------------------------------------------

    def submissions(self, study_id):
        """Return a study's submissions as the API lists them, which counts as requesting each."""
        self._one("studies", study_id)
        return (
            [self._shown_short(each) for each in self._of(study_id)] if self.modes["lists"] else []
        )

    def list_submissions(self, query):
        """Return a page of submissions with links to other pages. Past the end, raise a 404."""
        rows = self.submissions(query.get("study"))
        number, size = (
            int(query.get(name, least)) for name, least in (("page", 1), ("page_size", 20))
        )
        last = max(1, -(-len(rows) // size))
        if not 1 <= number <= last:
            raise FakeError(404, "Invalid page.")

        def link(title, number):
            there = f"/api/v1/submissions/?{urlencode({**query, 'page': number})}"
            href = f"https://api.prolific.com{there}" if 1 <= number <= last else None
            return {"href": href, "title": title}

        return {
            "results": rows[(number - 1) * size : number * size],
            "_links": {
                "self": link("Current", number),
                "next": link("Next", number + 1),
                "previous": link("Previous", number - 1),
                "last": link("Last", last),
            },
            "meta": {"count": len(rows)},
        }

    def submission(self, submission_id):
        if not self.modes["lists"]:
            raise FakeError(404, f"no submission has the id {submission_id!r}")
        return self._shown(self._one("submissions", submission_id))

    def transition_submission(self, submission_id, body):
        """Approve, reject, or undo a rejection. Each can be repeated."""
        submission, action = self._one("submissions", submission_id), body.get("action")
        seen = self._shown(submission)["status"]
        goal = {"APPROVE": "APPROVED", "REJECT": "REJECTED", "UNREJECT": "AWAITING REVIEW"}[action]
        if action == "REJECT":
            if len(body.get("message", "")) < 100:
                raise FakeError(400, {"message": ["must be at least 100 characters long"]})
            if body.get("rejection_category") not in CATEGORIES:
                raise FakeError(400, {"rejection_category": ["there is none of this name"]})
        if seen != goal:
            if seen != ("REJECTED" if action == "UNREJECT" else "AWAITING REVIEW"):
                raise FakeError(400, f"{action} of a submission that is {seen}")
            self._approve(submission) if action == "APPROVE" else self._set_status(submission, goal)
        return self._shown(submission, looked=False)

    def bulk_approve(self, body):
        rows = [self._one("submissions", each) for each in body["submission_ids"]]
        if wrong := [
            each for each in rows if each["status"] not in ("AWAITING REVIEW", "APPROVED")
        ]:
            raise FakeError(400, f"{wrong[0]['id']} is {wrong[0]['status']}")
        for each in rows:
            if each["status"] != "APPROVED":
                self._approve(each)
        return "The request to bulk approve is being processed."

    def request_return(self, submission_id, body):
        """Ask the participant to return; `return_submission` is the participant's reply."""
        submission = self._one("submissions", submission_id)
        if not body.get("request_return_reasons"):
            raise FakeError(400, {"request_return_reasons": ["is required"]})
        submission["return_requested"] = iso(self._clock())
        return self._shown(submission)

    # Money ---------------------------------------------------------------------------------------

    def create_bonuses(self, body):
        """Check a batch of bonuses line by line, without paying."""
        study, lines = self._one("studies", body["study_id"])["id"], []
        for line in body["csv_bonuses"].splitlines():
            who, _comma, amount = line.partition(",")
            theirs, cents = self._of(study, who), rules.cents_of(amount)
            if not theirs or not cents:
                raise FakeError(400, {"csv_bonuses": [f"{line!r} is no participant and amount"]})
            lines.append((theirs[-1], cents))
        batch, amount = new_id(), sum(cents for _submission, cents in lines)
        self._batches[batch] = lines
        money = {"amount": amount, "fees": fee_on(amount), "vat": 0}
        return {**money, "id": batch, "study": study, "total_amount": sum(money.values())}

    def pay_bonuses(self, batch_id):
        """Pay a batch; a repeated request pays again, as Prolific's documentation warns."""
        for submission, cents in self._one("batches", batch_id):
            submission["bonus_payments"].append(cents)
            self._pay("bonus", cents, submission)
        return f"Bulk bonus payment with ID {batch_id} is being processed."

    # Groups --------------------------------------------------------------------------------------

    def create_group(self, body):
        group = {"id": new_id(), "name": body["name"], "workspace_id": self._workspace(body)}
        self._groups[group["id"]], self._members[group["id"]] = group, {}
        none = dict.fromkeys(("description", "organisation_id", "project_id"))
        return {**group, **none, "is_deleted": False, "participant_count": 0}

    def groups(self):
        return list(self._groups.values())

    def members(self, group_id):
        members = self._one("members", group_id)
        return [{"participant_id": id, "datetime_created": at} for id, at in members.items()]

    def add_members(self, group_id, body):
        for each in body["participant_ids"]:
            self._one("members", group_id).setdefault(each, iso(self._clock()))
        return {"results": self.members(group_id)}

    def _workspace(self, named):
        if named.get("workspace_id") not in self._workspaces:
            raise FakeError(400, {"workspace_id": ["there is none with this id"]})
        return named["workspace_id"]

"""What an answer takes, in the keystroke-level model, and the targets for it: pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import mean, median

KEY, POINTING, CLICK = 0.2, 1.1, 0.2  # seconds
IMPOSSIBLE = "cannot be given"  # the kind of such answers
HEAD = (
    "| task | by | answer | examples, not exact | presses with Continue: median, most"
    " | model s | pointer px | swipes |\n|---|---|---|---|---|---|---|---|"
)


@dataclass
class Effort:
    """What the answers of one task took by one way: with their Continue, and without it."""

    seconds: list[float] = field(default_factory=list)
    presses: list[int] = field(default_factory=list)
    alone: list[int] = field(default_factory=list)
    one_word: list[int] = field(default_factory=list)
    travel: list[float] = field(default_factory=list)
    swipes: list[int] = field(default_factory=list)
    missed: int = 0

    def add(self, seconds: float, presses: int, go_on: int = 1) -> None:
        """`go_on` of the presses continued from the reveal."""
        self.seconds.append(seconds)
        self.presses.append(presses)
        self.alone.append(presses - go_on)


def line(task: str, way: str, kind: str, effort: Effort) -> str:
    travel = f"{median(effort.travel):.0f}" if effort.travel else ""
    swipes = f"{mean(effort.swipes):.1f}" if effort.swipes else ""
    worst = f"{median(effort.presses):.0f}, {max(effort.presses)}"
    seconds = f"{median(effort.seconds):.1f}"
    number = f"{len(effort.presses)}, {effort.missed}"
    return f"| {task} | {way} | {kind} | {number} | {worst} | {seconds} | {travel} | {swipes} |"


def targets(found: dict[tuple[str, str, str], Effort]) -> Iterator[str]:
    """A line for each target of an answer's effort, of what was measured."""

    def of(way: str, *kinds: str, task: str = "") -> list[Effort]:
        return [
            effort
            for (where, by, kind), effort in found.items()
            if by == way and kind in kinds and task in (where, "")
        ]

    def told(what: str, unit: str, target: float, worst: list[float]) -> str:
        if not worst:
            return f"| {what} | {target:g} {unit} | not measured | |"
        within = sum(value <= target + 1e-9 for value in worst)
        verdict = "reached" if within == len(worst) else f"missed in {len(worst) - within}"
        figures = f"median {median(worst):.1f}, most {max(worst):.1f}, of {len(worst)}"
        return f"| {what} | {target:g} {unit} | {figures} | {verdict} |"

    yield from ("| target | at most | measured | |", "|---|---|---|---|")
    labels = of("mouse", "label")
    yield told("label by keys, with Continue", "s", 0.6, all_of(of("keys", "label"), "seconds"))
    yield told(
        "label by mouse, to the reveal", "s", 2.6,
        [s - CLICK for s in all_of(labels, "seconds")],
    )  # fmt: skip
    yield told(
        "pointer from label to Submit to the next label", "px", 250, all_of(labels, "travel")
    )
    yield told("label by auto-advance", "s", 1.3, all_of(of("advance", "label"), "seconds"))
    yield told("no answer, to the reveal", "keys", 2, all_of(of("keys", "no answer"), "alone"))
    yield told("one word, to the reveal", "keys", 5, all_of(of("keys", "spans"), "one_word"))
    phone = of("touch", "spans", "no answer", task="SQuADv2")
    yield told("phone, text to Submit on SQuADv2", "swipes", 0, all_of(phone, "swipes"))
    missed = sum(e.missed for (_, _, kind), e in found.items() if kind != IMPOSSIBLE)
    yield told("answers that are not exact", "in all", 0, [missed])


def all_of(efforts: list[Effort], name: str) -> list[float]:
    return [value for effort in efforts for value in getattr(effort, name)]

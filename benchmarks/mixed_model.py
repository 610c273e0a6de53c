"""analysis.R of a release bundle beside our two-way interval, on simulated studies.

Two arms of the same test examples, people and contexts drawn at random; 20 studies a design. It
needs R with lme4 and lmerTest. Prints the table of docs/statistics.md#mixed-model.
"""

import csv
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from analysis.stats import two_way  # noqa: E402

STUDIES = 20
SHOTS = (0, 10)


@dataclass(frozen=True)
class Design:
    """Annotators an arm, contexts with so many examples each, and the annotators' SD (logits)."""

    people: int
    contexts: int
    each: int
    sd: float


DESIGNS = [
    Design(3, 200, 1, 0.25), Design(3, 200, 1, 0.6), Design(3, 200, 3, 0.25),
    Design(10, 200, 1, 0.25),
]  # fmt: skip


def study(design: Design, seed: int) -> dict[int, np.ndarray]:
    """Shots -> annotators x examples, right or wrong; no difference between the arms."""
    draw = np.random.default_rng(seed)
    size = design.contexts * design.each
    hardness = np.repeat(draw.normal(0, 0.9, design.contexts), design.each)
    hardness = hardness + draw.normal(0, 1.2, size)
    arms = {}
    for shots in SHOTS:
        able = draw.normal(0, design.sd, design.people)
        chance = 1 / (1 + np.exp(-(2 + able[:, None] + hardness[None, :])))
        arms[shots] = (draw.random(chance.shape) < chance).astype(float)
    return arms


def write(folder: Path, studies: list[dict[int, np.ndarray]], each: int) -> None:
    """As an export has them: each study is a task of its own, so that R starts once."""
    with (
        (folder / "answers.csv").open("w", newline="") as first,
        (folder / "examples.csv").open("w", newline="") as second,
    ):
        answers, examples = csv.writer(first), csv.writer(second)
        answers.writerow(
            ["task", "kind", "in_analysis", "step", "shots", "annotator", "hash", "s1"]
        )
        examples.writerow(["task", "file_kind", "hash", "segments"])
        for number, arms in enumerate(studies):
            for place in range(arms[0].shape[1]):
                examples.writerow([number, "test", f"h{place}", f"c{place // each}"])
            for shots, matrix in arms.items():
                for person, row in enumerate(matrix):
                    for place, s1 in enumerate(row):
                        who = f"{shots}-{person}"
                        answers.writerow(
                            [number, "person", 1, "annotation", shots, who, f"h{place}", s1]
                        )


def of_r(studies: list[dict[int, np.ndarray]], each: int) -> Iterator[tuple[float, ...]]:
    """Estimate, SE, df and the ends of the interval of each study's difference."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, studies, each)
        shutil.copy(ROOT / "analysis/export/analysis.R", folder)
        subprocess.run(["Rscript", "analysis.R"], cwd=folder, check=True, capture_output=True)
        with (folder / "mixed_model.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                if row["what"] == "10 - 0 shots":
                    names = ("estimate", "se", "df", "low_95", "high_95")
                    yield tuple(float(row[key]) for key in names)


def ours(arms: dict[int, np.ndarray], each: int) -> tuple[float, ...]:
    """The same of our estimator; NaN where annotators tie."""
    contexts = [place // each for place in range(arms[0].shape[1])]
    found = two_way.of_difference(arms[0], arms[10], contexts)
    low, high = found.interval()
    return found.value, found.se, found.df, low, high


def main() -> None:
    print("| design | who | mean SE | median half width |")
    print("|---|---|---|---|")
    for design in DESIGNS:
        studies = [study(design, seed) for seed in range(STUDIES)]
        estimates = {
            "two-way": np.array([ours(arms, design.each) for arms in studies]),
            "analysis.R": np.array(list(of_r(studies, design.each))),
        }
        apart = np.nanmax(np.abs(estimates["two-way"][:, 0] - estimates["analysis.R"][:, 0]))
        size = design.contexts * design.each
        for who, found in estimates.items():
            half = np.nanmedian(found[:, 4] - found[:, 3]) / 2
            print(
                f"| 2 x {design.people} annotators, {size} examples in {design.contexts} contexts,"
                f" annotator SD {design.sd} logits | {who} | {np.nanmean(found[:, 1]):.2f} |"
                f" {half:.1f} |"
            )
        print(f"estimates differ by at most {apart:.1e} points", file=sys.stderr)


if __name__ == "__main__":
    main()

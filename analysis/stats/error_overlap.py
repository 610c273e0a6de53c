"""Test whether an annotator makes the same errors as a model more often than expected (pure).

Answers are coded for each example: 0 means correct, each distinct wrong answer has a positive
number, and UNKNOWN means that the model's answer is missing. Under the null hypothesis, annotators
are interchangeable except for their number of errors: each example keeps its wrong answers, and
chance decides which annotators gave them. The p value is therefore computed by permuting answers
within examples while preserving each annotator's number of errors. Otherwise, careful annotators,
whose few errors are on examples that are also hard for models, would get small p values.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from analysis.heavy import np
from analysis.stats.uncertainty import ROUNDING, wilson

UNKNOWN = -1
FEWEST_ANNOTATORS = 3
FEWEST_ERRORS = 5  # required of both the annotator and the model
DRAWS = 250  # maximum number of permutations per annotator; Holm's first step requires 100 for 1 %
CHAINS = 250  # permutations drawn at once
BLOCK = 5  # chains traded at once, so that their arrays fit in the processor's cache
ENOUGH = 20  # stop once this many permutations have reached the observed value
TRADES = 2  # rounds of trades between two permutations of a chain


@dataclass(frozen=True)
class Overlap:
    """An annotator's overlap with a model, on examples for which the model's answer is known.

    `same` is the number of the annotator's `errors` that match the model's wrong answer exactly,
    and `share` is same / errors. `others` is the other annotators' mean share on the same examples.
    `low` and `high` are the 95% interval for share - others. An example is telling if the model
    is wrong but most annotators are correct. On `telling_same` of these, the annotator gave the
    model's answer; `telling_others` is the others' mean share. If `why_not` gives a reason, all
    numbers except counts are NaN.
    """

    errors: int
    model_errors: int
    same: int
    telling: int
    telling_same: int
    share: float = math.nan
    others: float = math.nan
    low: float = math.nan
    high: float = math.nan
    telling_others: float = math.nan
    p: float = math.nan
    why_not: str = ""


class _Model:
    """A model's errors: examples, wrong answers, and how many annotators gave each of them."""

    def __init__(self, model: np.ndarray, people: np.ndarray) -> None:
        self.known, self.places = model != UNKNOWN, np.flatnonzero(model > 0)
        self.answers, columns = model[self.places], people[:, self.places]
        self.given = (columns == self.answers).sum(0)
        self.telling = 2 * (columns == 0).sum(0) > len(people)
        self.annotators, self.others = len(people), max(len(people) - 1, 1)

    def excess(self, people: np.ndarray) -> np.ndarray:
        """Return each annotator's number of errors that match the model's - the others' mean."""
        columns = people.take(self.places, axis=-1)
        matches = np.count_nonzero(columns == self.answers, axis=-1)
        with_others = np.einsum("...e,e", columns > 0, self.given)
        return matches - (with_others - matches) / self.others

    def overlap(self, codes: np.ndarray) -> Overlap:
        errors, is_match = int((codes[self.known] > 0).sum()), codes[self.places] == self.answers
        matches, telling = int(is_match.sum()), int(self.telling.sum())
        shared = int((is_match & self.telling).sum())
        counted = Overlap(errors, len(self.places), matches, telling, shared)
        if self.annotators < FEWEST_ANNOTATORS:
            return replace(counted, why_not=f"fewer than {FEWEST_ANNOTATORS} annotators")
        if len(self.places) < FEWEST_ERRORS:
            return replace(counted, why_not=f"the model has fewer than {FEWEST_ERRORS} errors")
        if errors < FEWEST_ERRORS:
            return replace(counted, why_not=f"fewer than {FEWEST_ERRORS} errors")
        mean = (matches - float(self.excess(codes))) / errors
        low, high = wilson(matches, errors)
        by_others = float(self.given[self.telling].sum() - shared) / self.others
        return replace(
            counted, share=matches / errors, others=mean, low=low - mean, high=high - mean,
            telling_others=by_others / telling if telling else math.nan,
        )  # fmt: skip


def overlaps(
    people: np.ndarray, models: Collection[np.ndarray], seed: int = 0
) -> list[list[Overlap]]:
    """Return overlaps by model, then annotator, given codes (annotators x examples, examples)."""
    errors = [_Model(model, people) for model in models]
    results = [[model.overlap(o) for o in people] for model in errors]
    judged = np.array([[not o.why_not for o in row] for row in results], dtype=bool)
    if not judged.any():
        return results
    # Where all answers are equal, permuting them changes nothing, so the excess is 0.
    varied = (people > 0).any(0) & (people.max(0) != people.min(0))
    people = people[:, varied].astype(np.min_scalar_type(people.max()))
    errors = [_Model(model[varied], people) for model in models]
    edges = [model.excess(people) - ROUNDING for model in errors]
    reached, count = np.zeros(judged.shape), 0
    permuting = permutations(people, np.random.default_rng(seed)) if varied.any() else ()
    for permuted in permuting:
        for number, (model, edge) in enumerate(zip(errors, edges, strict=True)):
            reached[number] += (model.excess(permuted) >= edge).sum(0)
        count += len(permuted)
        if count >= DRAWS * len(people) or reached[judged].min() >= ENOUGH:
            break
    ps = (1 + reached) / (1 + count)  # the observed answers count as one permutation
    return [
        [o if o.why_not else replace(o, p=float(p)) for o, p in zip(row, of, strict=True)]
        for row, of in zip(results, ps, strict=True)
    ]


def permutations(people: np.ndarray, draw: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield permutations of the answers within examples indefinitely, CHAINS at a time.

    Each example keeps its answers, and each annotator keeps their number of errors. Permutations
    are generated by random trades between pairs of annotators (Strona and others 2014,
    "Curveball"). The yielded array is overwritten in the next step.
    """
    chains = np.repeat(people[None], CHAINS, axis=0)
    rounds = TRADES + 2 * len(people).bit_length()  # before the first permutation
    while True:
        for _round in range(rounds):
            order = draw.permutation(len(people))
            half = len(order) // 2
            for start in range(0, CHAINS, BLOCK):
                _trade(chains[start : start + BLOCK], order[:half], order[half : 2 * half], draw)
        yield chains
        rounds = TRADES


def _trade(
    chains: np.ndarray, first: np.ndarray, second: np.ndarray, draw: np.random.Generator
) -> None:
    """Trade answers between pairs of annotators, preserving each annotator's number of errors."""
    ours, theirs = chains[:, first], chains[:, second]
    wrong = ours > 0
    alone = wrong != (theirs > 0)  # exactly one of the two is wrong: redraw which one
    number = np.count_nonzero(wrong & alone, axis=-1)[..., None]
    keys = draw.random(ours.shape, dtype=np.float32)
    ranked = np.sort(np.maximum(keys, ~alone), axis=-1)  # keys are below 1
    limit = np.take_along_axis(ranked, np.maximum(number - 1, 0), axis=-1)
    is_redrawn, is_kept = (keys <= limit) & (number > 0), keys < 0.5
    is_kept ^= alone & (is_kept ^ (is_redrawn == wrong))
    traded = (ours ^ theirs) * ~is_kept
    chains[:, first] = ours ^ traded
    chains[:, second] = theirs ^ traded

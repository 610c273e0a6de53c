"""Scores, intervals and tests recomputed with numpy, scipy, scikit-learn and rouge."""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from rouge import Rouge
from scipy import special, stats
from sklearn.metrics import f1_score, matthews_corrcoef

SAME = 1e-12  # scores that differ by less are equal
Texts = frozenset[str]


def s1(said: Texts, gold: Texts) -> float:
    if not said or not gold:
        return float(said == gold)
    return 2 * len(said & gold) / (len(said) + len(gold))


def score(said: Texts, gold: Sequence[str], rule: str) -> float:
    """Return S1 by the task's rule: against all golds, or against the best of the alternatives."""
    if rule == "any_of" and gold:
        return max(s1(said, frozenset([text])) for text in gold)
    return s1(said, frozenset(gold))


def words(text: str) -> list[str]:
    bare = re.sub(f"[{re.escape(string.punctuation)}]", "", text.lower())
    return [word for word in bare.split() if word not in ("a", "an", "the")]


def one_text(texts: Sequence[str] | Texts) -> str:
    return " [SEP] ".join(sorted(set(texts), key=lambda text: (" ".join(words(text)), text)))


def shared_words(said: str, gold: str) -> float:
    counts = Counter(words(said)), Counter(words(gold))
    return 2 * (counts[0] & counts[1]).total() / max(1, counts[0].total() + counts[1].total())


def rouge_l(said: str, gold: str) -> float:
    if not said.translate(str.maketrans("", "", string.punctuation)) or not gold.replace(".", ""):
        return 0.0  # the package refuses texts without words
    return float(Rouge().get_scores(said, gold)[0]["rouge-l"]["f"])


def pearson(said: Sequence[str], gold: Sequence[str]) -> float:
    sides = np.array([said, gold], dtype=float)
    if sides.shape[1] < 2 or not np.ptp(sides, axis=1).all():
        return np.nan
    return float(stats.pearsonr(*sides).statistic)


def matthews(said: np.ndarray, gold: np.ndarray) -> float:
    sides = said == "acceptable", gold == "acceptable"
    return matthews_corrcoef(*sides) if all(0 < own.sum() < len(own) for own in sides) else 0.0


OF_EXAMPLE: dict[str, Callable[[str, str], float]] = {
    "EM": lambda said, gold: float(words(said) == words(gold)),
    "ACC": lambda said, gold: float(said.lower() == gold.lower()),
    "QA-F1": shared_words,
    "Rouge-L": rouge_l,
}
OF_TEST_SET: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "Classification-F1": lambda said, gold: f1_score(list(gold), list(said), average="macro"),
    "Matthew-Correlation": matthews,
    "Pearson-Correlation": pearson,
}


class Judged(NamedTuple):
    """The score of a test set, and a part for each example; the score is the mean of the parts."""

    value: float
    parts: np.ndarray


def judge(metric, said, golds, rule, no_answer, contexts) -> Judged:
    """Score the answers to a test set under a metric; `said` has a set of texts per example."""
    pairs = list(zip(said, golds, strict=True))
    if metric == "S1":
        parts = np.array([score(*pair, rule) for pair in pairs])
        return Judged(parts.mean(), parts)
    texts = [one_text(one).strip() for one in said]
    rights = [list(gold) if rule == "any_of" or not gold else [one_text(gold)] for gold in golds]
    if metric in OF_EXAMPLE:
        best = [
            max((OF_EXAMPLE[metric](text, gold) for gold in right), default=0.0)
            for text, right in zip(texts, rights, strict=True)
        ]
        empty = [no_answer and not (one and gold) for one, gold in pairs]
        parts = np.where(empty, [not one and not gold for one, gold in pairs], best)
        return Judged(parts.mean(), parts)
    if not all(rights):
        return Judged(np.nan, np.full(len(said), np.nan))
    return _jackknifed(OF_TEST_SET[metric], texts, [right[0] for right in rights], contexts)


def _jackknifed(score_of, said, gold, contexts) -> Judged:
    """Return centred pseudo-values without one context each as parts (Busing and others 1999)."""
    sides, (codes, known) = np.array([said, gold], dtype=object), pd.factorize(pd.Series(contexts))
    value = score_of(*sides)
    parts = np.full(len(said), value)
    for code in range(len(known) if len(known) > 1 and not np.isnan(value) else 0):
        own = codes == code
        times = len(said) / own.sum()
        parts[own] = times * value - (times - 1) * score_of(*sides[:, ~own])
    if np.isnan(parts).any():
        return Judged(value, np.where(np.isnan(parts), np.nan, value))
    return Judged(value, parts - parts.mean() + value)


class Estimate:
    """A mean or difference by the two-way t: `parts` are (variance, df) of people, contexts, rest.

    `ses` and `dfs` are for other people on these contexts, then for other people and contexts.
    """

    def __init__(self, value: float, parts: list[tuple[float, float]] | None):
        self.value, self.parts = value, parts
        self.ses = self.dfs = np.full(2, np.nan)
        if parts and parts[0][0] > 0:
            variances, dfs = np.array(parts).T
            total = max(variances[0] + variances[1] - variances[2], *variances[:2])
            df = max(total**2 / (variances**2 / dfs).sum(), min(dfs[:2]))
            self.ses, self.dfs = np.sqrt([variances[0], total]), np.array([dfs[0], df])

    def reach(self, level: float = 0.95) -> float:
        return float((stats.t.ppf((1 + level) / 2, self.dfs) * self.ses).max())

    def tail(self, distance: float) -> float:
        return float(stats.t.sf(distance / self.ses, self.dfs).max())

    def interval(self, lowest: float = 0.0) -> dict[str, float]:
        """Return the interval of a score, limited to possible scores."""
        low, high = np.clip([self.value - self.reach(), self.value + self.reach()], lowest, 1)
        return {"low_95": low, "high_95": high}

    def tested(self, margin: float) -> dict[str, float]:
        """Return the columns that every table of differences has."""
        gap, half, half_90 = self.value, self.reach(), self.reach(0.9)
        return {
            "difference": gap, "low_95": gap - half, "high_95": gap + half, "margin": margin,
            "p": 2 * self.tail(abs(gap)), "p_equivalence": self.tail(margin - abs(gap)),
            "low_90": gap - half_90, "high_90": gap + half_90, "smallest_margin": half_90,
            "people_se": self.ses[0], "people_df": self.dfs[0], "se": self.ses[1],
            "df": self.dfs[1],
        }  # fmt: skip


def row_means(matrix: np.ndarray) -> np.ndarray:
    """Return the mean of the known values in each row."""
    return pd.DataFrame(matrix).mean(axis=1).to_numpy()


def of_mean(matrix: np.ndarray, contexts: Sequence[str]) -> Estimate:
    values = _by_context(matrix, contexts)
    mean = pd.Series(row_means(matrix)).mean(skipna=False)
    return Estimate(mean, None if values is None else _anova(values))


def of_difference(first: np.ndarray, second: np.ndarray, contexts: Sequence[str]) -> Estimate:
    """Return the second mean minus the first: other annotators (Welch), the same contexts."""
    parts, arms = None, [_by_context(arm, contexts) for arm in (first, second)]
    if all(arm is not None for arm in arms):
        ((one, one_df), _, (rest, df)), ((two, two_df), _, (more, more_df)) = map(_anova, arms)
        people_df = (one + two) ** 2 / (one**2 / one_df + two**2 / two_df) if one + two else np.nan
        gaps = arms[1].mean(axis=0) - arms[0].mean(axis=0)
        of_contexts = gaps.var(ddof=1) / len(gaps), len(gaps) - 1
        parts = [(one + two, people_df), of_contexts, (rest + more, df + more_df)]
    return Estimate(row_means(second).mean() - row_means(first).mean(), parts)


def _by_context(matrix: np.ndarray, contexts: Sequence[str]) -> np.ndarray | None:
    """Return annotators x contexts, weighted by their examples; None if too few or undefined."""
    of_context = pd.get_dummies(pd.Series(contexts)).to_numpy(float)
    if len(matrix) < 2 or of_context.shape[1] < 2 or np.isnan(matrix).any():
        return None
    grand = matrix.mean()
    return grand + (matrix - grand) @ of_context * of_context.shape[1] / len(contexts)


def _anova(values: np.ndarray) -> list[tuple[float, float]]:
    """Return mean squares over the number of values, and df: people, contexts and the rest."""
    people, contexts = values.shape
    rows, columns = values.mean(axis=1), values.mean(axis=0)
    left = values - rows[:, None] - columns + values.mean()
    df = (people - 1) * (contexts - 1)
    between = rows.var(ddof=1) if varies(rows) else 0.0
    return [
        (between / people, people - 1),
        (columns.var(ddof=1) / contexts, contexts - 1),
        ((left**2).sum() / df / values.size, df),
    ]


def varies(values: np.ndarray) -> bool:
    return bool(np.ptp(values) > SAME)


def spread(values: Sequence[float], prefix: str = "") -> dict[str, float]:
    """Return mean and both SDs, all NaN if a value is undefined."""
    own = pd.Series(list(values), dtype=float)
    return {
        f"{prefix}mean": own.mean(skipna=False),
        f"{prefix}sd_ddof1": own.std(skipna=False),
        f"{prefix}sd_ddof0": own.std(ddof=0, skipna=False),
    }


def two_groups(first: np.ndarray, second: np.ndarray) -> dict[str, float]:
    """Return Hedges' g with its exact correction, Welch's p, and the p over all permutations."""
    sizes, df = (len(first), len(second)), len(first) + len(second) - 2
    smallest = (1 + (sizes[0] == sizes[1])) / special.comb(sum(sizes), sizes[0])
    row = {"n_from": sizes[0], "n_to": sizes[1], "smallest_p": min(1, smallest)}
    row["permutation_p"] = permuted((first, second), "independent")
    row |= {"hedges_g": np.nan, "welch_p": np.nan}
    if min(sizes) > 1 and (varies(first) or varies(second)):
        groups = [(own.mean(), own.std(ddof=1), len(own)) for own in (first, second)]
        row["welch_p"] = stats.ttest_ind_from_stats(*groups[0], *groups[1], False).pvalue
        pooled = np.sqrt(sum((n - 1) * sd**2 for _mean, sd, n in groups) / df)
        small = special.gamma(df / 2) / special.gamma((df - 1) / 2) / np.sqrt(df / 2)
        row["hedges_g"] = small * (second.mean() - first.mean()) / pooled
    return row


def permuted(groups: tuple[np.ndarray, ...], kind: str) -> float:
    """Return the two-sided p over all permutations, as the upper tail of the gap's size."""

    def size(*groups: np.ndarray, axis: int) -> np.ndarray:
        means = [own.mean(axis=axis) for own in groups]
        return np.round(abs(means[0] - sum(means[1:])), 11)  # keeps ties despite rounding errors

    if np.isnan(np.concatenate(groups)).any():
        return np.nan
    options = {"permutation_type": kind, "alternative": "greater", "n_resamples": np.inf}
    return float(stats.permutation_test(groups, size, **options).pvalue)


def lee(first: np.ndarray, second: np.ndarray, shares: Sequence[float]) -> tuple[float, float]:
    """Return the difference without the best, then the worst, of the arm that lost fewer."""
    trim = abs(shares[0] - shares[1]) / max(shares)

    def best(scores: np.ndarray) -> float:
        weights = np.clip(len(scores) * (1 - trim) - np.arange(len(scores)), 0, 1)
        return float(np.average(np.sort(scores)[::-1], weights=weights))

    if shares[0] > shares[1]:
        return second.mean() - best(first), second.mean() + best(-first)
    return -best(-second) - first.mean(), best(second) - first.mean()

"""Which metric fits which kind of answer, and the sentence that says why one does not."""

from collections.abc import Callable, Sequence

from tasks.metrics.corpus import ACCEPTABLE, as_numbers
from tasks.metrics.texts import normalise

LABEL, NUMBER = "label", "number"
TEXTS = frozenset({"spans", "option", "options", "short text", "long text"})
# Metric -> the kinds of answer that it scores, and why it scores no other.
KINDS: dict[str, tuple[frozenset[str], str]] = {
    "EM": (
        TEXTS | {LABEL},
        "it drops signs and decimal points, so that -3 and 3 would be the same",
    ),
    "ACC": (TEXTS | {LABEL, NUMBER}, ""),
    "QA-F1": (TEXTS, "it compares the words of texts"),
    "Rouge-L": (TEXTS, "it compares the words of texts"),
    "Classification-F1": (
        frozenset({LABEL, "option"}),
        "it takes the mean over labels, so each answer must be one of a list",
    ),
    "Matthew-Correlation": (
        frozenset({LABEL}),
        f"it tells the label “{ACCEPTABLE}” from all others",
    ),
    "Pearson-Correlation": (frozenset({LABEL, NUMBER}), "it needs numbers"),
}
# How a metric reads a label: two labels that it reads alike cannot be told apart by it.
READS: dict[str, Callable[[str], str]] = {
    "EM": normalise,
    "ACC": str.lower,
    "Classification-F1": str.strip,
}


def misfit(metric: str, kind: str, labels: Sequence[str] = ()) -> str:
    """Why that metric cannot score answers of that kind, in a sentence; "" where it can.

    S1 scores everything. `labels` are those of a label task.
    """
    if metric == "S1":
        return ""
    kinds, why = KINDS[metric]
    if kind not in kinds:
        return f"{metric} does not fit answers of the kind {kind}: {why}."
    return _misfit_of_labels(metric, labels) if kind == LABEL else ""


def _misfit_of_labels(metric: str, labels: Sequence[str]) -> str:
    if metric == "Matthew-Correlation" and ACCEPTABLE not in labels:
        return f"{metric} needs a label “{ACCEPTABLE}”, which it tells from all others."
    if metric == "Pearson-Correlation":
        try:
            as_numbers(labels)
        except ValueError:
            return f"{metric} needs numbers, and not every label is one."
    first: dict[str, str] = {}
    for label in labels if metric in READS else ():
        other = first.setdefault(READS[metric](label), label)
        if other != label:
            return f"{metric} reads the labels “{other}” and “{label}” as the same text."
    return ""

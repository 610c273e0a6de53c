"""The recipe string of a number: every choice that changes it, to print beside it."""

from tasks.metrics.interface import METRICS
from tasks.metrics.sets import check_rule


def recipe(gold_rule: str, ddof: int = 1, over: str = "annotators", metric: str = "S1") -> str:
    """Every choice that changes the number, as one string to print beside it.

    match: texts compare exactly; empty: S1 of two empty sets; gold: the task's gold rule; mean:
    what a score is the mean of; sd: what the deviation is taken over (annotators, or a model's
    splits), with its ddof; v: counts up when the meaning of any of these changes. Other metrics say
    how they compare; an answer of several texts is one text to them.
    """
    check_rule(gold_rule)
    spread = f"sd:{over}|ddof:{ddof}"
    if metric == "S1":
        return f"s1|match:exact|empty:1|gold:{gold_rule}|mean:examples|{spread}|v:1"
    how, _bar, version = METRICS[metric].recipe.rpartition("|v:")
    return f"{how}|texts:sorted, joined|empty:1|gold:{gold_rule}|{spread}|v:{version}"

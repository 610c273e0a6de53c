"""Scores of one text against one or several golds, as CrossFit computes them.

From its dataloader/metrics.py. A prediction is stripped first; golds are alternatives, and the
best one counts. An example without any gold (its output vanished from the file) scores 0.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalise(text: str) -> str:
    """Lower case, without ASCII punctuation and the articles a, an, the; single blanks.

    >>> normalise("The  U.N., a dog!")
    'un dog'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(prediction: str, golds: Sequence[str]) -> float:
    """EM: 1 where the prediction is one of the golds after `normalise`, else 0."""
    return _best(lambda said, gold: float(normalise(said) == normalise(gold)), prediction, golds)


def accuracy(prediction: str, golds: Sequence[str]) -> float:
    """ACC: 1 where the prediction is one of the golds but for case, else 0; punctuation counts."""
    return _best(lambda said, gold: float(said.lower() == gold.lower()), prediction, golds)


def qa_f1(prediction: str, golds: Sequence[str]) -> float:
    """QA-F1: harmonic mean of precision and recall over the words left by `normalise`.

    Words are counted as often as they stand. Nothing left on both sides shares no word: 0.
    """
    return _best(_f1_of_words, prediction, golds)


def _f1_of_words(prediction: str, gold: str) -> float:
    said, right = normalise(prediction).split(), normalise(gold).split()
    shared = sum((Counter(said) & Counter(right)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(said), shared / len(right)
    return 2 * precision * recall / (precision + recall)


def _best(score: Callable[[str, str], float], prediction: str, golds: Sequence[str]) -> float:
    said = prediction.strip()
    return max((score(said, gold) for gold in golds), default=0.0)

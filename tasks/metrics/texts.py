"""Scores of one text against one or more gold answers, as computed by CrossFit.

Source: dataloader/metrics.py in CrossFit. Predictions are stripped first. The best score against
any gold answer counts. An example without gold (whose file has no output) scores 0.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalise(text: str) -> str:
    """Convert to lower case, remove ASCII punctuation and articles, and collapse whitespace.

    >>> normalise("The  U.N., a dog!")
    'un dog'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(prediction: str, golds: Sequence[str]) -> float:
    """Return EM: 1 if the prediction equals a gold answer after `normalise`, otherwise 0."""
    return _best(lambda text, gold: float(normalise(text) == normalise(gold)), prediction, golds)


def accuracy(prediction: str, golds: Sequence[str]) -> float:
    """Return ACC: 1 if the prediction equals a gold answer, ignoring only case, otherwise 0."""
    return _best(lambda text, gold: float(text.lower() == gold.lower()), prediction, golds)


def qa_f1(prediction: str, golds: Sequence[str]) -> float:
    """Return the F1 of the words (a multiset) after `normalise`, or 0 if a side has no words."""
    return _best(_f1_of_words, prediction, golds)


def _f1_of_words(prediction: str, gold: str) -> float:
    predicted, right = normalise(prediction).split(), normalise(gold).split()
    shared = sum((Counter(predicted) & Counter(right)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(predicted), shared / len(right)
    return 2 * precision * recall / (precision + recall)


def _best(score: Callable[[str, str], float], prediction: str, golds: Sequence[str]) -> float:
    text = prediction.strip()
    return max((score(text, gold) for gold in golds), default=0.0)


# Rouge-L ----------------------------------------------------------------------------------------


MAX_WORDS = 1000  # of each text; the longest output in the Gym's test files has fewer
_TINY = 1e-8  # added to the denominator to avoid division by 0


def rouge_l(prediction: str, golds: Sequence[str]) -> float:
    """Return Rouge-L (F) against the best gold answer, in [0, 1), or 0 if either text is empty.

    It is computed at summary level, as in the package rouge 1.0 that CrossFit uses. Texts are split
    into sentences at full stops and into words at blanks. Let C be the words in a longest common
    subsequence of any pair of sentences, and G and P the words in the gold answer and prediction,
    all as sets. Recall is |C| / |G| and precision |C| / |P|, so reordered sentences still score 1.
    Time is proportional to the product of both lengths in words, so only the first MAX_WORDS words
    of a text are used.

    Punctuation-only text is treated as empty. Gold without sentences ("", ".") is ignored.
    """
    text = prediction.strip()
    if not text.translate(_PUNCTUATION):
        return 0.0
    sentences = _sentences(text)
    return max((_f(sentences, _sentences(gold)) for gold in golds if _sentences(gold)), default=0.0)


def _sentences(text: str) -> list[list[str]]:
    """Return up to MAX_WORDS words by sentence. As in rouge, whitespace is an empty word."""
    sentences, remaining = [], MAX_WORDS
    for part in text.split("."):
        if part and remaining > 0:
            sentences.append(" ".join(part.split()).split(" ")[:remaining])
            remaining -= len(sentences[-1])
    return sentences


def _f(predicted: list[list[str]], gold: list[list[str]]) -> float:
    shared = {
        word for right in gold for sentence in predicted for word in _common_words(right, sentence)
    }
    recall = len(shared) / len({word for sentence in gold for word in sentence})
    precision = len(shared) / len({word for sentence in predicted for word in sentence})
    return 2 * precision * recall / (precision + recall + _TINY)


def _common_words(first: list[str], second: list[str]) -> list[str]:
    """Return the words of one longest common subsequence.

    If there are several, ties are broken as in the package: backtracking prefers a step back in
    `second` over one in `first`. Each row of the length table is a single integer with a 0 in each
    column in which the length increases (Hyyrö 2004, "Bit-parallel LCS-length computation
    revisited"), so a row takes only a few integer operations.
    """
    marks: dict[str, int] = {}
    for column, word in enumerate(second):
        marks[word] = marks.get(word, 0) | 1 << column
    mask = row = (1 << len(second)) - 1
    rows = [row]
    for word in first:
        met = row & marks.get(word, 0)
        row = (row + met | row - met) & mask
        rows.append(row)

    def length(i: int, j: int) -> int:
        return j - (rows[i] & (1 << j) - 1).bit_count()

    words, i, j = [], len(first), len(second)
    while i and j:
        if first[i - 1] == second[j - 1]:
            i, j = i - 1, j - 1
            words.append(first[i])
        elif length(i - 1, j) > length(i, j - 1):
            i -= 1
        else:
            j -= 1
    return words

"""Time the metrics of whole test sets with their jackknife: `python benchmarks/metrics.py`.

Seconds of the processor, of 20 annotators on 1,000 examples, each its own context; texts of
ANSWER_WORDS words under Rouge-L. Prints a Markdown table. Nothing here is a test: machines differ.
"""

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tasks.metrics import Answers, over_test_set
from tasks.metrics.rouge import MAX_WORDS, rouge_l

ANNOTATORS, EXAMPLES, ANSWER_WORDS = 20, 1000, (25, 250)
LABELS = {
    "Classification-F1": [f"label {number}" for number in range(50)],
    "Matthew-Correlation": ["acceptable", "unacceptable"],
    "Pearson-Correlation": ["1", "2", "3", "4", "5"],
    "ACC": ["yes", "no"],
    "QA-F1": ["the red cat", "a red dog", "a cat that sat"],
}


def words(draw: random.Random, number: int) -> str:
    return " ".join(f"w{draw.randrange(60)}" for _ in range(number))


def seconds(metric: str, length: int = ANSWER_WORDS[0]) -> float:
    """Seconds of the processor for the scores and the parts of all annotators."""
    draw = random.Random(7)
    labels = LABELS.get(metric) or [words(draw, length) for _ in range(300)]
    golds = [[draw.choice(labels)] for _ in range(EXAMPLES)]
    sets = [
        Answers(
            [gold if draw.random() < 0.7 else [draw.choice(labels)] for gold in golds],
            golds,
            "set",
            False,
            list(range(EXAMPLES)),
        )
        for _ in range(ANNOTATORS)
    ]
    began = time.process_time()
    for answers in sets:
        over_test_set(metric, answers)
    return time.process_time() - began


def main() -> None:
    print(f"| metric, {ANNOTATORS} annotators x {EXAMPLES} examples | seconds |\n|---|---|")
    for metric in LABELS:
        print(f"| {metric} | {seconds(metric):.2f} |")
    for length in ANSWER_WORDS:
        print(f"| Rouge-L, answers of {length} words | {seconds('Rouge-L', length):.2f} |")
    draw = random.Random(1)
    text, gold = words(draw, 5 * MAX_WORDS), words(draw, 5 * MAX_WORDS)
    began = time.process_time()
    rouge_l(text, [gold])
    took = time.process_time() - began
    print(
        f"| Rouge-L, one answer of {5 * MAX_WORDS:,} words (the first {MAX_WORDS:,} count)"
        f" | {took:.3f} |"
    )


if __name__ == "__main__":
    main()

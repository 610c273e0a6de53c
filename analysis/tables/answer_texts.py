"""The texts of answers, streamed in the order of the exported files."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

from django.db.models import QuerySet

from annotation.models import Answer, AnswerSpan, Step, Study

# The spans of an answer stand together, in the order of the text.
IN_ORDER = ("answer_id", "segment", "start")
# Answers whose spans are read by one query; SQLite takes at most 32,766 keys.
AT_ONCE = 5000


def texts_of(label: str, spans: Iterable[str], values: Sequence[str] | None) -> list[str]:
    """The distinct texts of an answer in order, from what is stored: as GivenAnswer.texts."""
    return [label] if label else list(dict.fromkeys([*spans, *(values or ())]))


def texts_by_turn(spans: QuerySet[AnswerSpan]) -> Iterator[tuple[int, list[str]]]:
    """(turn, distinct texts in order) of these spans, which are IN_ORDER, by turn."""
    current: int | None = None
    texts: dict[str, None] = {}
    for turn, text in spans.values_list("answer_id", "text").iterator(chunk_size=2000):
        if turn != current:
            if current is not None:
                yield current, list(texts)
            current, texts = turn, {}
        texts[text] = None
    if current is not None:
        yield current, list(texts)


def given_texts(
    answers: QuerySet[Answer],
) -> Iterator[tuple[int, int, str, list[str], float]]:
    """(participation, example, label, distinct texts in order, S1) of each of these answers.

    Spans are read by the keys of their answers: as a subquery of them, PostgreSQL may read all
    spans once for each answer where its statistics are out of date. Values are read apart: most
    answers have none, and each that is read with its answer takes a conversion.
    """
    values = dict(answers.filter(values__isnull=False).order_by().values_list("turn_id", "values"))
    rows = answers.values_list(
        "turn_id", "turn__participation_id", "turn__example_id", "label", "s1"
    ).iterator(chunk_size=AT_ONCE)
    while chunk := list(itertools.islice(rows, AT_ONCE)):
        of_spans = [turn for turn, _participation, _example, label, _s1 in chunk if not label]
        chosen = AnswerSpan.objects.filter(answer__in=of_spans).order_by(*IN_ORDER)
        spans = dict(texts_by_turn(chosen))
        for turn, participation, example, label, s1 in chunk:
            if label:
                texts = [label]
            elif turn in values:
                texts = texts_of(label, spans.get(turn, ()), values[turn])
            else:
                texts = spans.get(turn, [])
            yield participation, example, label, texts, s1


def texts_of_upstream(study: Study) -> Iterator[tuple[int, list[str]]]:
    """(turn, texts of its spans in order) of the answers of an upstream step."""
    spans = AnswerSpan.objects.filter(
        answer__turn__participation__study=study, answer__turn__step=Step.UPSTREAM
    ).order_by(*IN_ORDER)
    for turn, rows in itertools.groupby(
        spans.values_list("answer_id", "text").iterator(chunk_size=2000), key=lambda row: row[0]
    ):
        yield turn, list(dict.fromkeys(text for _turn, text in rows))


def spans_in_order(study: Study) -> QuerySet[AnswerSpan]:
    """The spans in the order of spans.csv: those of an answer together, as verify.py needs.

    Not those of an upstream step, which are of other tasks.
    """
    spans = AnswerSpan.objects.filter(answer__turn__participation__study=study)
    return spans.exclude(answer__turn__step=Step.UPSTREAM).order_by(*IN_ORDER)

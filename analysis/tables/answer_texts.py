"""The texts of answers, streamed in the order of the exported files."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

from django.db.models import QuerySet

from annotation.models import AnswerSpan, Step, Study


def texts_of(label: str, spans: Iterable[str], values: Sequence[str] | None) -> list[str]:
    """The distinct texts of an answer in order, from what is stored: as GivenAnswer.texts."""
    return [label] if label else list(dict.fromkeys([*spans, *(values or ())]))


def texts_by_turn(
    study: Study, participations: Sequence[int] | None = None
) -> Iterator[tuple[int, list[str]]]:
    """(turn, distinct texts of its spans in order), by turn; of these participations or of all."""
    current: int | None = None
    texts: dict[str, None] = {}
    spans = spans_in_order(study)
    if participations is not None:
        spans = spans.filter(answer__turn__participation__in=participations)
    for turn, text in spans.values_list("answer_id", "text").iterator(chunk_size=2000):
        if turn != current:
            if current is not None:
                yield current, list(texts)
            current, texts = turn, {}
        texts[text] = None
    if current is not None:
        yield current, list(texts)


def texts_of_upstream(study: Study) -> Iterator[tuple[int, list[str]]]:
    """(turn, texts of its spans in order) of the answers of an upstream step."""
    spans = AnswerSpan.objects.filter(
        answer__turn__participation__study=study, answer__turn__step=Step.UPSTREAM
    ).order_by("answer_id", "segment", "start")
    for turn, rows in itertools.groupby(
        spans.values_list("answer_id", "text").iterator(chunk_size=2000), key=lambda row: row[0]
    ):
        yield turn, list(dict.fromkeys(text for _turn, text in rows))


def spans_in_order(study: Study) -> QuerySet[AnswerSpan]:
    """The spans in the order of spans.csv: those of an answer together, as verify.py needs.

    Not those of an upstream step, which are of other tasks.
    """
    spans = AnswerSpan.objects.filter(answer__turn__participation__study=study)
    return spans.exclude(answer__turn__step=Step.UPSTREAM).order_by("answer_id", "segment", "start")

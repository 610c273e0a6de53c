"""The API for answers and spans.

Researchers must not see a person's score before they decide on the analysis (protocol/blinding.py):
these answers' S1 and gold are null until then, as on the annotator's page. If the design hides test
scores, those in the annotation step are null until the study is closed.
"""

from typing import Any, ClassVar

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request

from analysis.export.columns import ANSWERS
from analysis.scores.columns import type_of
from annotation.models import JUDGED_STEPS, REVEALED, AnswerSpan, Kind, Step, Turn
from annotation.protocol import blinding
from annotation.web.access import study_of
from annotation.web.form_bodies import Texts
from annotation.web.paging import RowsView
from tasks.columns import Column
from tasks.spans import QUESTION

OF_TURN = {
    "task": ("example__split__task__name", None),
    "shots": ("participation__scenario__shots", None),
    "step": ("step", Step.values),
    "kind": ("participation__kind", Kind.values),
    "annotator": ("participation__pseudonym", None),
}


SHARED = [column for column in ANSWERS if column.brief is not None]
JOINED = {column.lookup.rpartition("__")[0] for column in SHARED} - {""}
OF_TYPE: dict[str, type[serializers.Field]] = {
    "integer": serializers.IntegerField, "number": serializers.FloatField,
    "datetime": serializers.DateTimeField, "string": serializers.CharField,
}  # fmt: skip


def _reached(turn: Turn, lookup: str) -> Any:
    """Return the lookup's value, or None if a row on its path is missing."""
    value: Any = turn
    for name in lookup.split("__"):
        value = getattr(value, name, None)
    return value


class Answers(RowsView):
    """One row per example shown, in display order."""

    columns = [Column(each.name, meaning=each.brief or each.meaning) for each in SHARED]
    kinds: ClassVar = {each.name: OF_TYPE[type_of(each.name)] for each in SHARED} | {
        "answer": Texts, "gold": Texts, "hidden": serializers.BooleanField,
    }  # fmt: skip
    summary = "Answers"
    description = (
        "Gold and S1 of human annotators are null until a decision on their inclusion in the"
        " analysis; for test examples, also until the study is closed if its design hides test"
        " scores."
    )
    streams = True
    filters: ClassVar = OF_TURN

    def rows(self, request: Request, **names: Any) -> QuerySet[Turn]:
        study = study_of(request, names["name"], "read")
        self.hidden, self.undecided = blinding.hidden(study), blinding.undecided(study)
        turns = Turn.objects.filter(participation__study=study)
        return turns.select_related(*JOINED).prefetch_related("answer__spans")

    def record(self, row: Turn) -> dict[str, Any]:
        seen = self._is_seen(row)
        own = {column.name: _reached(row, column.lookup) for column in SHARED}
        own |= {"hidden": not seen, "answer": row.given and list(row.given.as_given().texts)}
        return own if seen else own | {"gold": None, "s1": None}

    def _is_seen(self, turn: Turn) -> bool:
        """May this turn's gold be shown with its answer, as on the annotator's page?"""
        participation = turn.participation
        if participation.pk not in self.hidden:
            return turn.given is not None
        is_undecided = participation.pk in self.undecided
        spares = not blinding.hides_training(participation, is_undecided)
        return turn.given is not None and spares and turn.step in (*JUDGED_STEPS, *REVEALED)


# The task is the example's, which in the upstream step is not the scenario's.
_EXAMPLE, _PARTICIPATION = "answer.turn.example", "answer.turn.participation"
SPANS = [
    Column("task", meaning="name of the task", get=f"{_EXAMPLE}.split.task.name"),
    Column("task_version", meaning="its version", get=f"{_EXAMPLE}.split.task.version"),
    Column("shots", meaning="number of shots", get=f"{_PARTICIPATION}.scenario.shots"),
    Column("split", meaning="split number", get=f"{_PARTICIPATION}.scenario.split_number"),
    Column("step", meaning="of the protocol", get="answer.turn.step"),
    Column("annotator", meaning="pseudonym", get=f"{_PARTICIPATION}.pseudonym"),
    Column("example", meaning="id in its file", get=f"{_EXAMPLE}.source_id"),
    Column("hash", meaning="of the example", get=f"{_EXAMPLE}.content_hash"),
    Column(
        "segment",
        meaning="number of the text, or question",
        get=lambda s: "question" if s.segment == QUESTION else str(s.segment),
    ),
    Column("start", meaning="in Unicode code points"),
    Column("end", meaning="in Unicode code points, exclusive"),
    Column("text", meaning="the highlighted text"),
]


class Spans(RowsView):
    """One row per highlighted span."""

    columns = SPANS
    kinds: ClassVar = dict.fromkeys(
        ("task_version", "shots", "split", "start", "end"), serializers.IntegerField
    )
    summary = "Highlighted spans"
    streams = True
    filters: ClassVar = {
        name: (f"answer__turn__{lookup}", choices) for name, (lookup, choices) in OF_TURN.items()
    }

    def rows(self, request: Request, **names: Any) -> QuerySet[AnswerSpan]:
        study = study_of(request, names["name"], "read")
        spans = AnswerSpan.objects.filter(answer__turn__participation__study=study)
        return spans.select_related(
            "answer__turn__participation__scenario", "answer__turn__example__split__task"
        )

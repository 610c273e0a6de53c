"""What participants send, as JSON: its shape for the document, and how it becomes a form's fields.

The kinds of answers themselves (tasks/answers/) read those fields, as they do of a page.
"""

import json
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from annotation.models import ExitAnswers, Kind
from annotation.pages.worker.forms import MAX_EXIT_ANSWER
from tasks.spans import QUESTION

MAX_KEY = 2**63 - 1
# Python's own message would repeat what was sent, also where it is no text at all.
UNKNOWN = {"invalid_choice": "Expected one of the documented values."}


class Body(serializers.Serializer):
    """An object with these fields and no others: one that is misspelt would be ignored."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            unknown = sorted(set(data) - set(self.fields))
            if unknown:
                known = ", ".join(self.fields) or "none"
                raise serializers.ValidationError(
                    {ascii(name)[1:-1]: [f"There is no such field; known: {known}."]
                     for name in unknown}
                )  # fmt: skip
        return super().to_internal_value(data)


def verbatim(**options: Any) -> serializers.CharField:
    """A text just as it was sent."""
    return serializers.CharField(trim_whitespace=False, allow_blank=True, **options)


class SpanBody(Body):
    segment = serializers.IntegerField(
        min_value=QUESTION, max_value=MAX_KEY, help_text="0, 1, ...; -1 for the question"
    )
    start = serializers.IntegerField(min_value=0, max_value=MAX_KEY, help_text="code points")
    end = serializers.IntegerField(min_value=0, max_value=MAX_KEY, help_text="exclusive")


class AnswerFields(Body):
    """Those of the task's kind of answer, or `no_answer` alone."""

    label = verbatim(required=False, help_text="the name of a label")
    option = serializers.IntegerField(
        required=False, min_value=0, max_value=MAX_KEY, help_text="its place in the list, from 0"
    )
    options = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_KEY), required=False
    )
    number = verbatim(required=False, help_text="plain digits, such as 3.5")
    text = verbatim(required=False, help_text="a short or long text")
    spans = serializers.ListField(child=SpanBody(), required=False)
    typed = serializers.ListField(
        child=verbatim(),
        required=False,
        help_text="texts that stand in the example, in place of spans",
    )
    no_answer = serializers.BooleanField(required=False)


class AnswerBody(Body):
    turn = serializers.IntegerField(
        min_value=0, max_value=MAX_KEY, help_text="`question.turn` of the state"
    )
    answer = AnswerFields()


class ConsentBody(Body):
    agree = serializers.BooleanField()


class ComprehensionBody(Body):
    answers = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_KEY),
        help_text="for each question the place of the chosen option, from 0",
    )


class ContinueBody(Body):
    leaving = serializers.ChoiceField(
        ["reveal", "review", "instructions"], error_messages=UNKNOWN,
        help_text="the step that is left: asked a second time nothing happens",
    )  # fmt: skip


class QuestionnaireBody(Body):
    """All may be left out."""

    seen_before = serializers.ChoiceField(
        ExitAnswers.SeenBefore.values, required=False, error_messages=UNKNOWN
    )
    ai_used = serializers.ChoiceField(
        ExitAnswers.SeenBefore.values, required=False, error_messages=UNKNOWN
    )
    tools = verbatim(required=False, max_length=MAX_EXIT_ANSWER)
    comments = verbatim(required=False, max_length=MAX_EXIT_ANSWER)


class JoinBody(Body):
    kind = serializers.ChoiceField(
        Kind.values, required=False, error_messages=UNKNOWN,
        help_text="simulated and model need the token of a researcher with the scope run",
    )  # fmt: skip
    arrival = verbatim(
        required=False, help_text="as the landing page gave it: a repeated join is one"
    )


def fields_of(answer: Mapping[str, Any]) -> dict[str, str]:
    """The fields of the page's form for that answer (AnswerFields, validated)."""
    fields = {name: answer[name] for name in ("label", "number", "text") if name in answer}
    if "option" in answer:
        fields["option"] = str(answer["option"])
    for place in answer.get("options", ()):
        fields[f"option-{place}"] = "1"
    if answer.get("typed"):
        fields["typed"] = "\n".join(answer["typed"])
    if answer.get("no_answer"):
        fields["no_answer"] = "1"
    if answer.get("spans"):
        payload = {
            "v": 1,
            "no_answer": answer.get("no_answer", False),
            "spans": [_place(span) for span in answer["spans"]],
        }
        fields["answer"] = json.dumps(payload, separators=(",", ":"))
    return fields


def _place(span: Mapping[str, int]) -> dict[str, Any]:
    where: dict[str, Any] = {"field": "context", "index": span["segment"]}
    if span["segment"] == QUESTION:
        where = {"field": "question"}
    return where | {"start": span["start"], "end": span["end"]}

"""JSON bodies of participants' requests, and their conversion to form fields.

The answer types (tasks/answers/) read the converted fields as if a page had sent them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from rest_framework import serializers

from annotation.models import ExitAnswers, Kind, ModelRun
from annotation.models.answers import LONGEST_REASON
from annotation.participation.forms import MAX_EXIT_ANSWER
from tasks.answers import KINDS
from tasks.spans import QUESTION, payload_of

MAX_KEY, MAX_INTEGER = 2**63 - 1, 2**31 - 1
# The default message would repeat the input, even if that is not text.
UNKNOWN = {"invalid_choice": "Expected one of the documented values."}


class Body(serializers.Serializer):
    """The JSON body of a request. Unknown fields are rejected, so that no typo goes unnoticed."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            unknown = sorted(set(data) - set(self.fields))
            if unknown:
                names = ", ".join(self.fields) or "none"
                raise serializers.ValidationError(
                    {ascii(name)[1:-1]: [f"Unknown field. Known fields: {names}."]
                     for name in unknown}
                )  # fmt: skip
        return super().to_internal_value(data)


def verbatim(**options: Any) -> serializers.CharField:
    return serializers.CharField(trim_whitespace=False, allow_blank=True, **options)


def place(**options: Any) -> serializers.IntegerField:
    return serializers.IntegerField(min_value=0, max_value=MAX_KEY, **options)


def places(**options: Any) -> serializers.ListField:
    return serializers.ListField(child=place(), **options)


class SpanBody(Body):
    segment = serializers.IntegerField(
        min_value=QUESTION, max_value=MAX_KEY, help_text="index of the text; -1: the question"
    )
    start = place(help_text="offset of the first character, in code points")
    end = place(help_text="offset after the last character")


SENT: dict[type, Callable[..., serializers.Field]] = {str: verbatim, int: place, list: places}


class AnswerFields(Body):
    """The fields for the task's answer type, or `no_answer` alone."""

    spans = serializers.ListField(child=SpanBody(), required=False)
    typed = serializers.ListField(
        child=verbatim(),
        required=False,
        help_text="texts to find in the example, instead of spans",
    )
    no_answer = serializers.BooleanField(required=False)
    gives_up = serializers.BooleanField(
        required=False, help_text="models only: store an empty answer for invalid output"
    )

    def get_fields(self) -> dict[str, serializers.Field]:
        members = dict.fromkeys(kind.api_field for kind in KINDS.values() if kind.api_field[0])
        fields = {key: SENT[type](required=False, help_text=text) for key, type, text in members}
        return fields | super().get_fields()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject fields of several answer types, of which all but the task's would be ignored."""
        kinds = {"spans" if name == "typed" else name for name in attrs}
        if len(kinds - {"no_answer", "gives_up"}) > 1:
            several = "Expected only the fields for the task's answer type."
            raise serializers.ValidationError({name: [several] for name in attrs})
        return attrs


class AnswerBody(Body):
    turn = place(help_text="`question.turn` of the state")
    answer = AnswerFields()


class ConfidenceBody(Body):
    turn = place(help_text="`question.turn` of the state")
    confidence = serializers.IntegerField(
        min_value=1, max_value=5, required=False, allow_null=True,
        help_text="1 (0 % sure) to 5 (100 % sure); null or omitted: skipped",
    )  # fmt: skip
    reason = verbatim(required=False, max_length=LONGEST_REASON)


class ProblemBody(Body):
    turn = place(help_text="`question.turn` of any example that was shown")
    text = serializers.CharField(max_length=LONGEST_REASON)


class ConsentBody(Body):
    agree = serializers.BooleanField()


class ComprehensionBody(Body):
    answers = places(help_text="the index of the chosen option, from 0, for each question")


class OwnBody(Body):
    answers = serializers.DictField(
        child=verbatim(), help_text="answers by question id; optional ones can be omitted"
    )


class ContinueBody(Body):
    leaving = serializers.ChoiceField(
        ["reveal", "review", "instructions"], error_messages=UNKNOWN,
        help_text="the step that ends; repeating the request has no effect",
    )  # fmt: skip


class QuestionnaireBody(Body):
    """The questions at the end, all of which are optional."""

    seen_before = serializers.ChoiceField(
        ExitAnswers.SeenBefore.values, required=False, error_messages=UNKNOWN
    )
    ai_used = serializers.ChoiceField(
        ExitAnswers.SeenBefore.values, required=False, error_messages=UNKNOWN
    )
    tools = verbatim(required=False, max_length=MAX_EXIT_ANSWER)
    comments = verbatim(required=False, max_length=MAX_EXIT_ANSWER)


class ModelBody(Body):
    name = serializers.CharField(max_length=200, help_text="the model's name at its provider")
    revision = serializers.CharField(max_length=200, required=False, allow_blank=True)
    prompt_hash = serializers.RegexField(
        r"\A[0-9a-f]{64}\Z", help_text="SHA-256 of the prompt template, in hexadecimal digits",
        error_messages={"invalid": "Expected 64 hexadecimal digits in lower case."},
    )  # fmt: skip


class ScenarioBody(Body):
    task = serializers.CharField(max_length=60)
    shots = serializers.IntegerField(min_value=0, max_value=MAX_INTEGER)
    split = serializers.IntegerField(
        min_value=1, max_value=MAX_INTEGER, required=False, allow_null=True,
        help_text="number of the training split; omitted at zero shots",
    )  # fmt: skip
    arm = serializers.CharField(max_length=20, required=False, allow_blank=True)


class JoinBody(Body):
    kind = serializers.ChoiceField(
        Kind.values, required=False, error_messages=UNKNOWN,
        help_text="simulated and model require a researcher's token with the run scope",
    )  # fmt: skip
    arrival = verbatim(
        required=False, help_text="`arrival` of the landing page, so that a join can be repeated"
    )
    model = ModelBody(required=False)
    scenario = ScenarioBody(required=False, help_text="the scenario that the model joins")
    replicate = serializers.IntegerField(
        min_value=1, max_value=MAX_INTEGER, required=False, help_text="for models only; default: 1"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require `model` and `scenario` for models, and reject them for all other kinds."""
        for name in ("model", "scenario"):
            if (name in attrs) != (attrs.get("kind") == Kind.MODEL):
                raise serializers.ValidationError(
                    {name: ["Models require this field, and no other kind has it."]}
                )
        return attrs


class RunBody(Body):
    """A report on a model's run."""

    template = verbatim(max_length=100_000, help_text="the text whose hash was sent when joining")
    harness = verbatim(required=False, max_length=100, help_text="program that ran the model")
    examples = serializers.ChoiceField(ModelRun.Examples.values, error_messages=UNKNOWN)
    context = serializers.ChoiceField(ModelRun.Context.values, error_messages=UNKNOWN)
    temperature = serializers.FloatField(
        required=False, allow_null=True, min_value=0, max_value=100
    )
    seed = serializers.IntegerField(
        required=False, allow_null=True, min_value=-MAX_KEY, max_value=MAX_KEY
    )
    retries = serializers.IntegerField(min_value=0, max_value=MAX_INTEGER)
    input_tokens = serializers.IntegerField(min_value=0, max_value=MAX_KEY)
    output_tokens = serializers.IntegerField(min_value=0, max_value=MAX_KEY)
    cost_usd = serializers.DecimalField(
        max_digits=12, decimal_places=6, min_value=0, required=False, allow_null=True
    )
    answers = serializers.IntegerField(min_value=0, max_value=MAX_INTEGER)
    invalid = serializers.IntegerField(min_value=0, max_value=MAX_INTEGER)
    refusals = serializers.IntegerField(min_value=0, max_value=MAX_INTEGER)
    seconds = serializers.FloatField(min_value=0, max_value=1e9)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["invalid"] > attrs["answers"]:
            raise serializers.ValidationError({"invalid": ["Cannot exceed the number of answers."]})
        return attrs


def fields_of(answer: Mapping[str, Any]) -> dict[str, str]:
    """Convert a validated answer (AnswerFields) to the form fields of the page."""
    fields: dict[str, str] = {}
    for kind in KINDS.values():
        if kind.api_field[0] in answer:
            fields |= kind.fields_sent(answer[kind.api_field[0]])
    if answer.get("typed"):
        fields["typed"] = "\n".join(answer["typed"])
    fields |= {name: "1" for name in ("no_answer", "gives_up") if answer.get(name)}
    if answer.get("spans"):
        places = [(span["segment"], span["start"], span["end"]) for span in answer["spans"]]
        fields["answer"] = payload_of(places, answer.get("no_answer", False))
    return fields

"""Forms on annotators' pages, except for answer forms, which tasks/answers/ parses."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext, gettext_lazy, ngettext

from annotation.models import ExitAnswers, Study
from annotation.models.answers import LONGEST_REASON
from annotation.protocol.own_questions import EXIT_QUESTIONS
from annotation.study import screening
from annotation.study.own_questions import CHOICE, NUMBER, OwnQuestion
from annotation.web.fields import PageForm, TextField

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise

MAX_EXIT_ANSWER = 2000  # characters
TOO_LONG = gettext_lazy("Please use at most %(limit_value)s characters for each answer.")
UNASKED = {"invalid_choice": gettext_lazy("Please choose one of the answers on this page.")}


class ConsentForm(forms.Form):
    agree = forms.ChoiceField(choices=[("yes", "yes"), ("no", "no")])


class ComprehensionForm(PageForm):
    key = "questions"

    def __init__(self, study: Study, *args: Any):
        super().__init__(*args)
        questions = screening.parse(study.comprehension_questions)
        for number, question in enumerate(questions, start=1):
            self.fields[f"question-{number}"] = forms.ChoiceField(
                label=f"{number}. {question.text}",
                choices=[(str(place), option) for place, option in enumerate(question.options)],
                widget=forms.RadioSelect,
                error_messages={"required": gettext_lazy("Please answer this question.")},
            )

    def mark(self, wrong: Iterable[int]) -> None:
        for number in wrong:
            self.add_error(f"question-{number}", gettext("This is not right. Please choose again."))

    def message(self) -> str:
        numbers = ", ".join(name.removeprefix("question-") for name in self.errors)
        return ngettext(
            "Please check question %(numbers)s. Read the instructions above again.",
            "Please check questions %(numbers)s. Read the instructions above again.",
            len(self.errors),
        ) % {"numbers": numbers}


SEEN_BEFORE = [
    (ExitAnswers.SeenBefore.NO, gettext_lazy("No")),
    (ExitAnswers.SeenBefore.YES, gettext_lazy("Yes")),
    (ExitAnswers.SeenBefore.UNSURE, gettext_lazy("Not sure")),
]


def _choice(label: "StrPromise") -> forms.ChoiceField:
    return forms.ChoiceField(
        label=label,
        choices=SEEN_BEFORE,
        required=False,
        widget=forms.RadioSelect,
        error_messages=UNASKED,
    )


def _text(label: "StrPromise", rows: int) -> TextField:
    return TextField(
        label=label,
        required=False,
        max_length=MAX_EXIT_ANSWER,
        widget=forms.Textarea({"rows": rows}),
        error_messages={"max_length": TOO_LONG},
    )


class OwnForm(PageForm):
    """The form for the study's custom questions. Fields are named "own-" plus the question ID."""

    key = "own"

    def __init__(self, questions: Iterable[OwnQuestion], *args: Any):
        super().__init__(*args)
        for question in questions:
            self.fields[f"own-{question.id}"] = _own_field(question)

    def answers(self) -> dict[str, str]:
        return {
            name.removeprefix("own-"): "" if value is None else str(value)
            for name, value in self.cleaned_data.items()
            if name.startswith("own-")
        }


def _own_field(question: OwnQuestion) -> forms.Field:
    required = gettext_lazy("Please answer this question.")
    # Translators: a question that cannot be left out.
    mark = gettext(" (required)") if question.is_required else ""
    common: dict[str, Any] = {"label": question.text + mark, "required": question.is_required}
    if question.kind == CHOICE:
        return forms.ChoiceField(
            choices=[(option, option) for option in question.options],
            widget=forms.RadioSelect,
            error_messages=UNASKED | {"required": required},
            **common,
        )
    if question.kind == NUMBER:
        number = gettext_lazy("Please enter a number in digits, such as 30.")
        return forms.RegexField(
            r"-?[0-9]{1,9}([.,][0-9]{1,6})?",
            widget=forms.TextInput({"inputmode": "decimal"}),
            error_messages={"invalid": number, "required": required},
            **common,
        )
    return TextField(
        max_length=MAX_EXIT_ANSWER,
        widget=forms.Textarea({"rows": 2}),
        error_messages={"max_length": TOO_LONG, "required": required},
        **common,
    )


class ExitForm(OwnForm):
    key = "exit"
    seen_before = _choice(gettext_lazy("Had you seen these texts or this task before?"))
    ai_used = _choice(gettext_lazy("Did you use an AI tool, such as a chatbot?"))
    tools = _text(gettext_lazy("Which tools or people helped you, if any?"), rows=2)
    comments = _text(gettext_lazy("Is there anything else that you would like to tell us?"), rows=3)

    def __init__(self, asks: bool, questions: Iterable[OwnQuestion], *args: Any):
        super().__init__(questions, *args)
        self.asks = asks
        if not asks:
            for name in EXIT_QUESTIONS:
                del self.fields[name]


class ProblemForm(PageForm):
    key = "problem"
    text = forms.CharField(
        label=gettext_lazy("What is wrong with this example?"),
        max_length=LONGEST_REASON,
        widget=forms.TextInput({"autocomplete": "off"}),
        error_messages={
            "required": gettext_lazy("Please answer this question."),
            "max_length": TOO_LONG,
        },
    )

"""The forms of the annotator's pages, besides the answer itself (tasks/spans.py reads that)."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.http import Http404, QueryDict

from annotation.models import ExitAnswers, Study
from annotation.pages.fields import PageForm, TextField, WholeNumberField
from annotation.study import gates

MAX_EXIT_ANSWER = 2000  # characters
UNASKED = {"invalid_choice": "Please choose one of the answers shown."}


class ConsentForm(forms.Form):
    """Yes or no; the buttons are the template's."""

    agree = forms.ChoiceField(choices=[("yes", "yes"), ("no", "no")])


class ComprehensionForm(PageForm):
    """The questions about the instructions, each with its options."""

    key = "questions"

    def __init__(self, study: Study, *args: Any):
        super().__init__(*args)
        questions = gates.parse(study.comprehension_questions)
        for number, question in enumerate(questions, start=1):
            self.fields[f"question-{number}"] = forms.ChoiceField(
                label=f"{number}. {question.text}",
                choices=[(str(place), option) for place, option in enumerate(question.options)],
                widget=forms.RadioSelect,
                error_messages={"required": "Please answer this question."},
            )

    def mark(self, wrong: Iterable[int]) -> None:
        """Say at these questions that the answer was not right."""
        for number in wrong:
            self.add_error(f"question-{number}", "This was not right: please check again.")

    def sentence(self) -> str:
        """Which questions have to be looked at again."""
        numbers = ", ".join(name.removeprefix("question-") for name in self.errors)
        return f"Please check question {numbers} and the instructions above again."


def _choice(label: str) -> forms.ChoiceField:
    return forms.ChoiceField(
        label=label,
        choices=ExitAnswers.SeenBefore.choices,
        required=False,
        widget=forms.RadioSelect,
        error_messages=UNASKED,
    )


def _text(label: str, rows: int) -> TextField:
    too_long = f"Please keep each answer under {MAX_EXIT_ANSWER} characters."
    return TextField(
        label=label,
        required=False,
        max_length=MAX_EXIT_ANSWER,
        widget=forms.Textarea({"rows": rows}),
        error_messages={"max_length": too_long},
    )


class ExitForm(PageForm):
    """The optional questions at the end."""

    key = "exit"
    seen_before = _choice("Had you seen these texts or this task before?")
    ai_used = _choice("Did you use an AI tool, such as a chatbot?")
    tools = _text("Which tools or people helped you, if any?", rows=2)
    comments = _text("Is there anything else that you would like to tell us?", rows=3)


class _TurnForm(forms.Form):
    turn = WholeNumberField(min_value=0)


def turn_of(sent: QueryDict) -> int:
    """The number of the turn that a page is about; 404 for what cannot be one."""
    form = _TurnForm(sent)
    if not form.is_valid():
        raise Http404
    return form.cleaned_data["turn"]

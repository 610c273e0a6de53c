"""A task's card as a form: the texts that annotators read; what decides scores is for the file."""

from typing import Any

from django import forms

from annotation.pages.fields import PageForm, TextField
from tasks.cards import Card, CardError, parse_card

# Keys of the card whose value is one text -> rows of their field.
TEXTS = {
    "title": 1, "description": 2, "instructions": 8, "submit_hint": 1, "question": 2,
    "source": 1, "licence": 1,
}  # fmt: skip
# Tables of the card -> their texts, and the one that names an entry on the page.
TABLES = {
    "labels": (("definition", "example"), "name"),
    "question_types": (("wording", "definition", "example"), "name"),
    "help": (("title", "definition", "example"), "title"),
}


class CardTextsForm(PageForm):
    """Each text of the card as a field; `card` is the card with what was typed."""

    key = "card"

    def __init__(self, card: Card, *args: Any):
        super().__init__(*args)
        self.before = card.as_dict()
        for name, rows in TEXTS.items():
            if name in self.before or name == "question":
                self._add(name, name.replace("_", " "), self.before.get(name, ""), rows)
        self.fields["question"].required = False
        self.fields["question"].help_text = "Empty: the data's own question is asked."
        for table, (texts, naming) in TABLES.items():
            for number, entry in enumerate(self.before.get(table, [])):
                for text in texts:
                    words = f"{table.replace('_', ' ')}, {entry[naming]}: {text}"
                    self._add(f"{table}-{number}-{text}", words, entry[text], 2)

    def _add(self, name: str, words: str, value: str, rows: int) -> None:
        widget = forms.TextInput() if rows == 1 else forms.Textarea({"rows": rows})
        label = words[:1].upper() + words[1:]
        kind = forms.CharField if rows == 1 else TextField
        self.fields[name] = kind(label=label, initial=value, widget=widget)

    def clean(self) -> dict[str, Any]:
        """The card's own rules have the last word."""
        cleaned = super().clean() or {}
        if not self.errors:
            try:
                self._made = parse_card(self._changed(), "The card")
            except CardError as error:
                self.add_error(None, str(error))
        return cleaned

    def card(self) -> Card:
        """The card with what was typed, of a valid form."""
        return self._made

    def _changed(self) -> dict[str, Any]:
        data: dict[str, Any] = {**self.before}
        for table in TABLES:
            if table in data:
                data[table] = [dict(entry) for entry in data[table]]
        for name, value in self.cleaned_data.items():
            table, _dash, rest = name.partition("-")
            if rest:
                number, _dash, text = rest.partition("-")
                data[table][int(number)][text] = value
            elif value or name in self.before:
                data[name] = value
        if not data.get("question"):
            data.pop("question", None)
        return data

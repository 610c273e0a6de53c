"""The answer kinds, with a common interface (`kind.Kind`); standard library only.

`KINDS` maps a card's answer kind to everything that differs between kinds (docs/answers.md), in
the order in which pages list them; `Card.kind` returns it. tasks/spans.py handles spans.
"""

from tasks.answers.kind import Asked, GoldError, Kind
from tasks.answers.label import Label
from tasks.answers.number import Number
from tasks.answers.options import Option, Options
from tasks.answers.spans import Spans
from tasks.answers.texts import LongText, ShortText

__all__ = ["KINDS", "Asked", "GoldError", "Kind"]

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (Label(), Spans(), Option(), Options(), Number(), ShortText(), LongText())
}

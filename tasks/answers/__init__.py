"""The answer kinds, with a common interface (`kind.Kind`); standard library only.

`KINDS` maps a card's answer kind to everything that differs between kinds (docs/answers.md), in
the order in which pages list them; `Card.kind` returns it. tasks/spans.py handles spans.
"""

from tasks.answers.choices import Label, Option, Options
from tasks.answers.kind import Asked, GoldError, Kind
from tasks.answers.spans import Spans
from tasks.answers.typed import LongText, Number, ShortText

__all__ = ["KINDS", "Asked", "GoldError", "Kind"]

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (Label(), Spans(), Option(), Options(), Number(), ShortText(), LongText())
}

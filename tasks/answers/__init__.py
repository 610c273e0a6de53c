"""Answer types with a common interface (`kind.Kind`), using only the standard library.

`KINDS` maps the answer type on a card to the object that implements everything specific to it
(docs/answers.md), in the order in which pages list the types. `Card.kind` returns this object.
Spans themselves are handled in tasks/spans.py.
"""

from tasks.answers.choices import Label, Option, Options
from tasks.answers.kind import GoldError, Kind, Prompt
from tasks.answers.spans import Spans
from tasks.answers.typed import LongText, Number, ShortText

__all__ = ["KINDS", "GoldError", "Kind", "Prompt"]

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (Label(), Spans(), Option(), Options(), Number(), ShortText(), LongText())
}

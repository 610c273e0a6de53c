"""Tokens, which determine where an answer may start and end (docs/highlighter.md#tokens).

The card sets the granularity. With `word`, runs of letters, digits and marks are tokens, and every
other character is a separate token. With `char`, every character is a token, which is meant for
text without spaces between words. A character is a grapheme cluster: flags and letters with marks
are never split.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

TOKENISER = "t5-2"
WORD, CHAR = "word", "char"
GRANULARITIES = (WORD, CHAR)


# Each character becomes the letter of its class; the patterns below match these letters.
#   w letter, digit or "_"    m mark, belongs to what it follows    i mark that joins two letters
#   l, v, t parts of a Korean syllable                              n, z joiners without width
#   o any other sign          k skin tone          r half of a flag  s blank or invisible
_SPECIAL = {
    **dict.fromkeys((*range(0xE0020, 0xE0080), 0x0E33, 0x0EB3, 0xFF9E, 0xFF9F), "m"),
    **dict.fromkeys(map(ord, "\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d\u1039\u17d2\u1a60"), "i"),
    **dict.fromkeys((*range(0x1100, 0x1160), *range(0xA960, 0xA97D)), "l"),
    **dict.fromkeys((*range(0x1160, 0x11A8), *range(0xD7B0, 0xD7C7)), "v"),
    **dict.fromkeys((*range(0x11A8, 0x1200), *range(0xD7CB, 0xD7FC)), "t"),
    **dict.fromkeys(range(0x1F1E6, 0x1F200), "r"),
    **dict.fromkeys(range(0x1F3FB, 0x1F400), "k"),
    0x200C: "n",
    0x200D: "z",
}
# A flag, or a symbol with its modifiers, and any further symbols attached by a joiner.
_SIGN = "(?:rr|[okr])[mik]*(?:z[ok][mik]*)*"
_PATTERNS = {
    WORD: re.compile(f"[wmilvt](?:[nz]*[wmilvt])*|{_SIGN}"),
    CHAR: re.compile(f"(?:l+[vt]*|[wvt][vt]*)(?:i[nz]*w|[mi])*|[mi]+|{_SIGN}"),
}


class _Classes(dict[int, str]):
    """The classes of characters by code point, for str.translate."""

    def __missing__(self, code: int) -> str:
        category, character = unicodedata.category(chr(code)), chr(code)
        letter = "s" if character.isspace() or category in ("Cf", "Cc") else "o"
        # Don't use \w: in Python, it excludes combining marks, and would split many words.
        if category[0] in "LNM" or character == "_":
            letter = "m" if category[0] == "M" else "w"
        self[code] = letter
        return letter


_CLASSES = _Classes(_SPECIAL)


def _cut(text: str, granularity: str) -> Iterator[tuple[int, int]]:
    matches = _PATTERNS[granularity].finditer(text.translate(_CLASSES))
    return (match.span() for match in matches)


@lru_cache(maxsize=2048)
def tokens(text: str, granularity: str = WORD) -> tuple[tuple[int, int], ...]:
    """Return (start, end) for each token. Whitespace and invisible characters separate tokens."""
    return tuple(_cut(text, granularity))


def on_boundaries(text: str, start: int, end: int, granularity: str = WORD) -> bool:
    """Return whether a token starts at `start` and a token ends at `end`."""
    fits = 0 <= start < end <= len(text)
    return fits and _is_edge(text, start, granularity, 0) and _is_edge(text, end, granularity, 1)


def _is_edge(text: str, index: int, granularity: str, side: int) -> bool:
    """Return whether a token starts (side 0) or ends (side 1) at `index`.

    Tokens never contain whitespace, so only the characters between two spaces have to be split.
    """
    first, last = text.rfind(" ", 0, index) + 1, text.find(" ", index)
    stretch = text[first : last if last >= 0 else len(text)]
    return index - first in _edges(stretch, granularity)[side]


@lru_cache(maxsize=8)  # text without spaces may be long
def _edges(stretch: str, granularity: str) -> tuple[frozenset[int], frozenset[int]]:
    cut = list(_cut(stretch, granularity))
    return frozenset(start for start, _end in cut), frozenset(end for _start, end in cut)


def is_separator(character: str) -> bool:
    return _CLASSES[ord(character)] in "snz"


# --- Texts without spaces ----------------------------------------------------------------------

# Han, Japanese kana, Thai, Lao, Khmer and Myanmar are written without spaces between words.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff]+"
)
_LONG = 6  # mean characters per run; in text that is split into words, it is two to five


def has_no_spaces(text: str) -> bool:
    """Return whether a text is mostly in a script without spaces and isn't split into words."""
    runs = [sum(1 for _ in _cut(run, CHAR)) for run in _UNSPACED.findall(text)]
    if not runs or sum(runs) < _LONG * len(runs) or sum(runs) < 2 * _LONG:
        return False
    return 2 * sum(runs) > sum(1 for character in text if character.isalnum())

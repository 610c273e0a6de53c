"""An answer may begin and end only at whole words or whole characters."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.tokens import CHAR, GRANULARITIES, WORD, has_no_spaces, on_boundaries, tokens

# Emoji, a decomposed accent, a double blank, CRLF, markup, right to left.
ODD = "😀 Lago  e\u0301\r\n(x_1) <b>&amp; שלום"


def words(text: str, granularity: str = WORD) -> list[str]:
    return [text[start:end] for start, end in tokens(text, granularity)]


def test_tokens_are_runs_of_letters_digits_and_marks_or_one_sign():
    assert words(ODD) == [
        "😀", "Lago", "e\u0301", "(", "x_1", ")", "<", "b", ">", "&", "amp", ";", "שלום",
    ]  # fmt: skip
    assert tokens(ODD)[1] == (2, 6)
    assert words("Mar-a-Lago's U.S.") == [
        "Mar", "-", "a", "-", "Lago", "'", "s", "U", ".", "S", ".",
    ]  # fmt: skip
    assert words("কপিল") == ["কপিল"]
    assert words("a\u00adb\u200bc\ufeff\u0085 ") == ["a", "b", "c"]


@given(st.text())
def test_tokens_never_overlap_and_leave_only_separators_out(text):
    last = 0
    for start, end in tokens(text):
        assert last <= start < end
        last = end
    kept = {i for start, end in tokens(text) for i in range(start, end)}
    assert not any(c.isalnum() for i, c in enumerate(text) if i not in kept)


WHOLE = {
    "a family": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "a colour of skin": "\U0001f469\U0001f3fd\u200d\U0001f680",
    "a flag": "\U0001f1e9\U0001f1ea",
    "a flag of tags": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "a flag of signs": "\U0001f3f4\u200d☠\ufe0f",
    "a variation selector": "❤\ufe0f",
    "a heart on fire": "❤\ufe0f\u200d\U0001f525",
    "a keycap": "#\ufe0f\u20e3",
}


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("sign", WHOLE)
def test_a_grapheme_is_one_token(sign, granularity):
    whole = WHOLE[sign]
    assert words(f"{whole} {whole}({whole}", granularity) == [whole, whole, "(", whole]
    text = f"{whole}ab"
    assert words(text)[0] == whole
    assert on_boundaries(text, 0, len(whole), granularity)
    inside = range(1, len(whole))
    assert not any(on_boundaries(text, 0, end, granularity) for end in inside)
    assert not any(on_boundaries(text, start, len(whole), granularity) for start in inside)


def test_two_adjacent_flags_are_two_tokens():
    assert words("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7") == [
        "\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7",
    ]  # fmt: skip


def test_a_joiner_inside_a_word_does_not_split_it():
    assert words("می\u200cخواهم a\u200d b") == ["می\u200cخواهم", "a", "b"]


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        ("小池知事が、来た。", ["小", "池", "知", "事", "が", "、", "来", "た", "。"]),
        ("ในน้ำทำดี", ["ใ", "น", "น้ำ", "ทำ", "ดี"]),
        ("ខ្មែរ", ["ខ្មែ", "រ"]),
        ("मन्दिर में", ["म", "न्दि", "र", "में"]),
        ("한글 \u1112\u1161\u11ab", ["한", "글", "\u1112\u1161\u11ab"]),
        ("e\u0301a 1\ufe0f\u20e32", ["e\u0301", "a", "1\ufe0f\u20e3", "2"]),
    ],
    ids=["Japanese", "Thai", "Khmer", "Hindi", "Korean", "marks"],
)
def test_by_characters_each_grapheme_is_one_token(text, characters):
    assert words(text, CHAR) == characters


@given(st.text(), st.sampled_from(GRANULARITIES))
def test_boundaries_are_the_starts_and_ends_of_tokens(text, granularity):
    cut = tokens(text, granularity)
    starts, ends = {start for start, _ in cut}, {end for _, end in cut}
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            found = on_boundaries(text, start, end, granularity)
            assert found == (start in starts and end in ends)


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_boundaries_of_a_long_text_are_those_of_its_tokens(granularity):
    long = "ab-c\u0301d" * 60 + " " + "xy " * 60 + "\U0001f1e9\U0001f1ea" * 70
    cut = tokens(long, granularity)
    starts, ends = {start for start, _ in cut}, {end for _, end in cut}
    for start, end in cut:
        assert on_boundaries(long, start, end, granularity)
    for index in set(range(len(long))) - starts:
        assert not on_boundaries(long, index, len(long), granularity)
    for index in set(range(1, len(long))) - ends:
        assert not on_boundaries(long, 0, index, granularity)


UNSPACED = {
    "Chinese": "昨天下午，李明在上海图书馆遇见了王芳和她的弟弟。",
    "Japanese": "東京都庁で小池百合子知事が記者会見を開いた",
    "Thai": "เมื่อวานนี้สมชายเดินทางไปเชียงใหม่กับมาลี",
    "Lao": "ມື້ວານນີ້ສົມໄຊເດີນທາງໄປຫຼວງພະບາງ",
    "Khmer": "ម្សិលមិញសុខាបានទៅសៀមរាប",
    "Myanmar": "မနေ့ကမောင်မောင်မန္တလေးသို့သွားခဲ့သည်",
}


@pytest.mark.parametrize("language", UNSPACED)
def test_texts_without_spaces_are_recognised(language):
    assert has_no_spaces(UNSPACED[language])


@pytest.mark.parametrize(
    "text",
    [
        "He flew from 北京 to 東京都 on Monday.",
        "小池 百合子 知事 が 東京 都庁 で 記者 会見 を 開い た 。",
        "สมชาย เดินทาง ไป เชียงใหม่ กับ มาลี",
        "김민수가 어제 부산에 갔다.",
        "北京",
        "",
    ],
    ids=["names in English", "Japanese cut", "Thai cut", "Korean", "one name", "nothing"],
)
def test_texts_with_spaces_are_not_recognised_as_unspaced(text):
    assert not has_no_spaces(text)


def test_checking_ends_in_many_long_texts_takes_little_memory():
    """Data reports check every gold answer in a process with limited memory."""
    tracemalloc.start()
    try:
        for number in range(40):
            assert on_boundaries(f"word{number} " * 5_000, 0, len(f"word{number}"))
        assert (
            tracemalloc.get_traced_memory()[0] < 1_000_000
        )  # bytes; all tokens took 20 times more
    finally:
        tracemalloc.stop()

"""Annotators' pages mark each text of a task with its language and direction."""

from dataclasses import replace

import pytest
from django.urls import reverse
from lxml import html

from tasks.formats import Record
from tests import factories

UNREAD = {"script", "style", "title"}


def read(page: str) -> list[tuple[str, str, str]]:
    """Return (text, language, direction) of each readable text of a page or part of a page."""
    found = []
    for element in html.fromstring(page).iter(html.etree.Element):
        texts = [(element.text, element)] if element.tag not in UNREAD else []
        texts += [(element.tail, element.getparent())]
        for text, parent in texts:
            if text and text.strip() and parent is not None:
                language = parent.xpath("ancestor-or-self::*[@lang][1]/@lang")
                ways = parent.xpath("ancestor-or-self::*[@dir or self::bdi][1]")
                way = ways[-1].get("dir", "auto") if ways else ""
                found.append((text.strip(), "".join(language), way))
    return found


def is_arabic(text: str) -> bool:
    return any("\u0600" <= letter <= "\u06ff" for letter in text)


def is_latin(text: str) -> bool:
    return any("a" <= letter.lower() <= "z" for letter in text)


def check(page: str) -> None:
    """Check all texts of a page: the task's are Arabic, the page's are in Latin letters."""
    found = read(page)
    of_task = [words for words in found if is_arabic(words[0])]
    assert of_task
    assert [words for words in of_task if words[1] != "ar" or words[2] not in ("rtl", "auto")] == []
    assert [words for words in found if is_latin(words[0]) and words[1] == "ar"] == []


CARD = {
    "title": "أماكن",
    "description": "ابحث عن الأماكن في الجملة.",
    "instructions": "اقرأ الجملة.\n\nظلل كل مكان.",
    "submit_hint": "ظلل الأماكن ثم أرسل.",
    "segments": ["جملة"],
    "language": "ar",
    "direction": "rtl",
}
KINDS = [
    {"match": f"kind {number}", "name": name, "wording": f"ما {name} المذكورة؟",
     "definition": f"كل {name}.", "example": "لا شيء."}
    for number, name in enumerate(("الأماكن", "الأشخاص"))
]  # fmt: skip
LABELS = [
    {"name": "إيجابي", "definition": "الكاتب يحبه.", "example": "أحببت الحساء."},
    {"name": "سلبي", "definition": "الكاتب لا يحبه.", "example": "كان الحساء باردا."},
]
GOLD = ("القاهرة الكبرى", "تونس")


def rows(question: str, gold: tuple[str, ...], number: int = 2) -> list[Record]:
    return [
        Record(f"r-{place}", (f"ذهبنا إلى القاهرة الكبرى ثم إلى تونس. {place}",), question, gold)
        for place in range(number)
    ]


@pytest.fixture
def places(researcher):
    """A participant who highlights places in two examples; the second has an explanation."""
    first, second = rows("kind 0", GOLD)
    train = [first, replace(second, explanation="لأنها مدينة.")]
    files = {"train": {1: train}, "test": rows("kind 1", ())}
    task = factories.make_task(**CARD, question_types=KINDS, **files)
    return seat(researcher, task, 1)


@pytest.fixture
def moods(researcher):
    """A participant who chooses between two labels; the second is right in both examples."""
    files = {"train": {2: rows("؟", ("سلبي",))}, "test": rows("؟", ("سلبي",))}
    return seat(researcher, factories.make_task(**CARD, labels=LABELS, **files), 2)


def seat(researcher, task, shots: int):
    study = factories.make_study(
        researcher, task, shots=[shots], training_order="file_order", accepts_leakage=True
    )
    return factories.seat(study.scenarios.get())


def answer(client, seat, texts: list[str]) -> str:
    turn = seat.latest_turn()
    fields = factories.fields_for(turn.example, texts)
    address = reverse("answer", args=[seat.token])
    client.post(address, {"turn": turn.pk, **fields})
    return client.get(reverse("work", args=[seat.token])).content.decode()


def go_on(client, seat, leaving: str) -> str:
    reply = client.post(reverse("continue", args=[seat.token]), {"leaving": leaving}, follow=True)
    return reply.content.decode()


def test_card_texts_on_first_pages_have_language_and_direction(client, places):
    study = places.study
    landing = reverse("landing", args=[study.link_code])
    check(client.get(landing).content.decode())
    started = client.post(reverse("start", args=[study.link_code]), follow=True).content.decode()
    assert places.scenario.task.card.description not in started  # it is only on the landing page
    token = study.participations.latest("pk").token
    agreed = client.post(reverse("consent", args=[token]), {"agree": "yes"}, follow=True)
    assert "ظلل كل مكان." in agreed.content.decode()
    check(agreed.content.decode())


def test_span_pages_mark_the_language_of_card_texts(client, places):
    check(client.get(reverse("work", args=[places.token])).content.decode())
    # One highlight is too long at both ends, and the other is wrong.
    check(answer(client, places, ["إلى القاهرة الكبرى ثم", "ذهبنا"]))
    go_on(client, places, "reveal")
    explained = answer(client, places, ["القاهرة"])
    assert "لأنها مدينة." in explained
    check(explained)
    review = go_on(client, places, "reveal")
    assert 'data-state="review"' in review
    check(review)


def test_label_pages_mark_the_language_of_card_texts(client, moods):
    check(client.get(reverse("work", args=[moods.token])).content.decode())
    for _example in range(2):
        check(answer(client, moods, ["إيجابي"]))
        review = go_on(client, moods, "reveal")
    assert 'data-mistake="other_label"' in review
    check(review)


def test_texts_of_a_study_have_automatic_direction(client, researcher):
    study = factories.make_study(
        researcher,
        factories.make_task(),
        title="دراسة",
        consent_text="موافقة",
        comprehension_questions="سؤال؟\n* نعم\n- لا",
    )
    landing = reverse("start", args=[study.link_code])
    pages = [
        client.get(reverse("landing", args=[study.link_code])),
        client.post(landing, follow=True),
    ]
    agree = reverse("consent", args=[study.participations.get().token])
    pages.append(client.post(agree, {"agree": "yes"}, follow=True))
    for page, words in zip(pages, ("دراسة", "موافقة", "سؤال؟"), strict=True):
        found = [way for text, _lang, way in read(page.content.decode()) if words in text]
        assert set(found) == {"auto"}

"""Every page for annotators has a Flesch-Kincaid grade of 8 at most.

Texts of tasks and studies are in Greek letters here, so that only Handful's sentences count.
"""

import re

import lxml.html
import pytest
import textstat
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from annotation.models import Participation, Status, StudyStatus
from annotation.participation.state import ENDED_MESSAGES, NOT_COMPREHENDED
from annotation.recruitment import join_errors
from tasks import importing
from tests import catalogues, factories, pseudo
from tests.pseudo import answer, arrive, card_of, go_on, greek, made_task

HIGHEST = 8
FEWEST_WORDS = 4  # shorter lines are labels
BLOCKS = (
    "address", "article", "button", "details", "dd", "div", "dl", "dt", "fieldset", "footer",
    "form", "h1", "h2", "h3", "header", "label", "legend", "li", "main", "nav", "ol", "option", "p",
    "section", "summary", "title", "ul",
)  # fmt: skip
NO_SENTENCES = ("script", "style", "output", "svg")
TASKS = ("sst-2", "conll03", "squadv2")
GREEK = re.compile(r"\S*[\u0370-\u03ff]\S*")


class Reader(pseudo.Reader):
    """An annotator's client that collects the text of each page."""

    def __init__(self):
        super().__init__()
        self.pages: dict[str, list[str]] = {}

    def read(self, reply, name: str):
        self.pages.setdefault(name, []).extend(lines(reply.content.decode()))
        return reply


@pytest.fixture
def reader():
    """Return a client that collects pages, and check their grades at the end of the test."""
    made = Reader()
    yield made
    check(made.pages)


def lines(page: str) -> list[str]:
    """Return the text of each block of a page, without texts of tasks and studies."""
    root = lxml.html.fromstring(page)
    for element in list(root.iter(*NO_SENTENCES)):
        element.drop_tree()
    for element in root.iter(*BLOCKS):
        element.text = f"¶{element.text or ''}"
        element.tail = f"¶{element.tail or ''}"
    return sentences(root.text_content().split("¶"))


def sentences(texts) -> list[str]:
    """Return each text of several words as one line that ends with a full stop."""
    found = []
    for text in texts:
        line = " ".join(GREEK.sub("", text).split())
        if len(re.findall("[A-Za-z]+", line)) >= FEWEST_WORDS:
            found.append(line if line[-1] in ".?!" else f"{line.rstrip(':')}.")
    return found


def check(pages: dict[str, list[str]]) -> None:
    """Print the grade of each page; fail with the hardest sentences of pages that are too hard."""
    assert pages
    told = []
    for name, found in pages.items():
        found = list(dict.fromkeys(found))
        if not found:
            continue
        grade = textstat.flesch_kincaid_grade(" ".join(found))
        print(f"{grade:5.1f}  {name}")
        if grade > HIGHEST:
            told.append(f"{name}: grade {grade:.1f}")
            parts = [part for line in found for part in re.split(r"(?<=[.?!]) ", line)]
            hardest = sorted(parts, key=textstat.flesch_kincaid_grade, reverse=True)[:3]
            told += [f"    {textstat.flesch_kincaid_grade(part):.1f}  {part}" for part in hardest]
    assert not told, "too hard to read:\n" + "\n".join(told)


def study_of(researcher, *tasks, **fields):
    return pseudo.study_of(researcher, *tasks, **{"interface_language": "en", **fields})


@pytest.mark.long
def test_a_hard_page_is_reported_with_its_hardest_sentence():
    hard = "Notwithstanding methodological considerations, annotators participate voluntarily."
    with pytest.raises(AssertionError, match=f"sample: grade .*\n.*{hard}"):
        check({"sample": lines(f"<main><p>{hard} You read it.</p></main>")})


def test_texts_of_tasks_and_labels_do_not_count():
    page = f"<main><p>You <b>chose {greek('Rome')}</b> here now</p><button>Send</button></main>"
    assert lines(page) == ["You chose here now."]


@pytest.mark.long
@pytest.mark.parametrize("name", TASKS)
def test_the_pages_of_a_participation(reader, researcher, name):
    study = study_of(
        researcher, made_task(card_of(name)), shots=[2], exit_questionnaire=True,
        comprehension_questions=greek("Which?\n- This\n* That"), max_paid_hours="1.5",
        own_questions=f"age, before, number, required: {greek('How old?')}",
    )  # fmt: skip
    seat = arrive(reader, study)
    address = reverse("own_questions", args=[seat.token])
    reader.post(address, {"own-age": ""}, "own questions")
    reader.post(address, {"own-age": "30"}, "instructions")
    comprehend = reverse("comprehend", args=[seat.token])
    reader.post(comprehend, {"question-1": "0"}, "comprehension, wrong")
    reader.post(comprehend, {"question-1": "1"}, "comprehension, right")
    for number in (1, 2, 3):
        address = reverse("try_tool", args=[seat.token, number])
        reader.get(address, "try the tool")
        sent = {"label": "vehicle"} if study.tasks.get().card.labels else {"typed": "red"}
        reader.post(address, {"turn": "0", **sent}, "try the tool, answered")
    reader.post(reverse("begin", args=[seat.token]), {}, "first example")
    answer(reader, seat, {}, "no answer given")
    reader.get(reverse("withdraw", args=[seat.token]), "withdraw?")
    seat.refresh_from_db()
    while seat.status == Status.WORKING:
        turn = seat.latest_turn()
        labels = [label.name for label in turn.card.labels]
        given = [next(one for one in labels if one not in turn.example.gold)] if labels else []
        given = given or [greek("today")]
        answer(reader, seat, factories.fields_for(turn.example, given), "answered")
        go_on(reader, seat, "next")
        seat.refresh_from_db()
    assert seat.status == Status.COMPLETED
    reader.get(reverse("work", args=[seat.token]), "the end")
    reader.get(reverse("landing", args=[study.link_code]), "landing, done")
    reader.post(reverse("withdraw", args=[seat.token]), {}, "withdrawn")
    reader.get(reverse("withdraw", args=[seat.token]), "withdrawn already")


@pytest.mark.long
@pytest.mark.parametrize(
    "kind", [kind for kind in factories.KINDS if kind not in ("spans", "label")]
)
def test_the_pages_of_other_kinds_of_answer(reader, researcher, kind):
    study = study_of(researcher, pseudo.task_of_kind(kind, no_answer=True), shots=[2])
    seat = arrive(reader, study)
    reader.post(reverse("begin", args=[seat.token]), {}, "first example")
    answer(reader, seat, {}, "no answer given")
    for _example in range(2):
        example = seat.latest_turn().example
        right = factories.fields_for(example, factories.right_texts(example))
        answer(reader, seat, right, "right")
        go_on(reader, seat, "next")


@pytest.mark.long
@pytest.mark.parametrize("shots", [0, 2])
def test_the_pages_of_a_decision(reader, researcher, shots):
    study = study_of(
        researcher, made_task(card_of("sst-2")), shots=[shots], qualification="researcher",
        screening_examples=2 if not shots else 0,
    )  # fmt: skip
    seat = arrive(reader, study)
    reader.post(reverse("begin", args=[seat.token]), {}, "first example")
    for _example in range(2):
        example = seat.latest_turn().example
        answer(reader, seat, factories.fields_for(example, list(example.gold)), "answered")
        go_on(reader, seat, "next")
    seat.refresh_from_db()
    assert seat.status == Status.WAITING
    reader.get(reverse("work", args=[seat.token]), "waiting")
    for status in (Status.BETWEEN, Status.RETURNED, Status.EXPIRED, Status.REJECTED):
        live = {"seat_number": None} if status != Status.BETWEEN else {}
        Participation.objects.update(status=status, **live)
        reader.get(reverse("work", args=[seat.token]), status)


def test_the_pages_without_a_seat(reader, researcher):
    study = study_of(researcher, made_task(card_of("sst-2")), shots=[0, 2], hourly_rate=0)
    reader.post(reverse("start", args=[study.link_code]), {}, "consent")
    token = Participation.objects.get().token
    reader.post(reverse("consent", args=[token]), {"agree": "no"}, "declined")
    reader.get(reverse("work", args=[token]), "wrong address")
    for status in (StudyStatus.PAUSED, StudyStatus.CLOSED):
        type(study).objects.update(status=status)
        reader.get(reverse("landing", args=[study.link_code]), status)


def words_of(page: str) -> int:
    """Return the number of visible words."""
    (main,) = lxml.html.fromstring(page).xpath("//main")
    for path in (
        ".//details/*[not(self::summary)]",
        ".//script",
        ".//*[@hidden]",
        ".//*[@class='visually-hidden']",
    ):
        for element in main.xpath(path):
            element.drop_tree()
    return len(" ".join(main.itertext()).split())


@pytest.mark.long
@pytest.mark.real_data
@pytest.mark.parametrize("name", importing.CLUES)
def test_at_most_350_words_precede_the_first_example(client, researcher, clues, name):
    card, files = importing.read_clues(clues, name)
    train = next(file.records for file in files if (file.shots, file.number) == (10, 1))
    test = next(file.records for file in files if file.kind == "test")[:3]
    task = factories.make_task(train={10: train}, shots=[], test=test, **card.as_dict())
    study = factories.make_study(
        researcher, task, shots=[10], title=card.title, hourly_rate=12, max_paid_hours="1.5"
    )
    pages = [client.get(reverse("landing", args=[study.link_code]))]
    client.post(reverse("start", args=[study.link_code]))
    token = Participation.objects.get().token
    pages.append(client.get(reverse("work", args=[token])))
    client.post(reverse("consent", args=[token]), {"agree": "yes"})
    pages.append(client.get(reverse("work", args=[token])))
    words = [words_of(page.content.decode()) for page in pages]
    assert min(words) > 20
    assert sum(words) <= 350, words


@pytest.mark.long
@pytest.mark.django_db
def test_the_error_pages(reader):
    reader.get("/nowhere/", "404")
    for name in ("400", "403", "403_csrf", "429", "500"):
        page = render_to_string(f"{name}.html", {"request_id": "1"})
        reader.pages[name] = lines(page)


@pytest.mark.django_db
def test_the_help(reader):
    reader.read(Client().get(reverse("help", args=["annotators/"])), "help")


def test_reasons_and_sentences_of_scripts(reader):
    ends = [NOT_COMPREHENDED, *ENDED_MESSAGES.values()]
    reader.pages["reasons for refusing a seat"] = sentences(map(str, join_errors.NO_SEAT.values()))
    reader.pages["reasons for an end"] = sentences(map(str, ends))
    entries = catalogues.sentences()
    reader.pages["sentences of scripts"] = sentences(entry.msgid for entry in entries)

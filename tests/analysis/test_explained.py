"""Each number of a researcher's page explains itself: what, over whom, n, ddof."""

import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.tables import resampling
from annotation.models import Kind
from annotation.money import payout
from tests import factories

# Columns that name a row; they measure nothing.
NAMES = {"Shots", "Group", "Training file", "Split", "Batch"}
NUMBER = re.compile(r"[+−<-]?\s?\.?\d")


class Page(HTMLParser):
    """The tables of a page, and its tips.

    `tables` holds rows of cells (is in the head, text, has a tip of its own, holds a time).
    """

    def __init__(self, text: str):
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.tips: list[dict[str, str]] = []
        self.tags: set[str] = set()
        self.tables: list[list[list[dict]]] = []
        self.in_head = self.in_tip_text = False
        self.cell: dict | None = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.add(tag)
        self.ids.update([found["id"]] if "id" in found else [])
        if tag == "button" and found.get("class") == "tip":
            self.tips.append(found)
            if self.cell is not None:
                self.cell["tip"] = True
        elif tag == "table":
            self.tables.append([])
        elif tag in ("thead", "tbody", "tfoot"):
            self.in_head = tag == "thead"
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.cell = {"head": self.in_head, "text": "", "tip": False, "time": False}
            self.tables[-1][-1].append(self.cell)
        elif tag == "time" and self.cell is not None:
            self.cell["time"] = True
        self.in_tip_text = found.get("class") == "tip-text"

    def handle_endtag(self, tag):
        self.in_tip_text = False
        if tag in ("th", "td"):
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None and not self.in_tip_text:
            self.cell["text"] += data

    def unexplained(self) -> set[str]:
        """Columns with numbers that neither their head, nor their row, nor the cells explain."""
        found = set()
        for table in self.tables:
            *_groups, head = [row for row in table if row[0]["head"]]
            for row in table:
                for name, cell in zip(head, row, strict=True) if not row[0]["head"] else ():
                    text, own = name["text"].strip(), cell["text"].strip()
                    is_number = NUMBER.match(own) and not cell["time"]
                    has_tip = name["tip"] or row[0]["tip"] or cell["tip"]
                    if is_number and not has_tip and text not in NAMES:
                        found.add(f"{text}: {own}")
        return found


@pytest.fixture
def pages(client, researcher) -> dict[str, str]:
    """The pages of a study that everybody has done, with a model and a batch of payments."""
    labels = factories.make_task(name="toy-labels", labels=factories.LABELS)
    study = factories.make_study(
        researcher, factories.make_task(), labels, shots=[0, 2], annotators=2, base_reward=5
    )
    for scenario in study.scenarios.all():
        for kind in (Kind.PERSON, Kind.PERSON, Kind.SIMULATED):
            factories.work_through(factories.seat(scenario, kind=kind))
    for task in study.tasks.all():
        factories.predict(researcher, "a-model", task, 0)
        factories.predict(researcher, "a-model", task, 2, 1)
    payout.prepare(study, researcher)
    resampling.job_of(study, Kind.PERSON, owner=researcher)
    call_command("run_jobs", verbosity=0)
    client.force_login(researcher)
    someone = study.participations.filter(kind=Kind.PERSON).first()
    addresses = {
        "studies": (), "models": (), "planner": (), "model": ("a-model",),
        "participation": (study.name, someone.pseudonym),
    } | dict.fromkeys(
        ("study", "human_performance", "training_table", "examples", "analysis", "study_models",
         "figures", "sensitivity", "pay", "behaviour"), (study.name,)
    )  # fmt: skip
    return {
        name: client.get(reverse(name, args=args)).content.decode()
        for name, args in addresses.items()
    }


def test_each_column_of_numbers_says_what_it_is_on_hover_and_focus(pages):
    for name, text in pages.items():
        page = Page(text)
        assert page.unexplained() == set(), name
        assert page.tables or name == "participation", name
        assert "abbr" not in page.tags, name
        assert "js/tip" in text, name
        twice = {one for one, times in page.ids.items() if times > 1}
        assert twice == set(), name
        assert all(tip["popovertarget"] in page.ids for tip in page.tips), name

"""Every number on a researcher's page is explained: what it is, over whom, n and ddof."""

import re
from collections import Counter

import lxml.html
import pytest
from django.core.management import call_command
from django.urls import reverse
from lxml.html import HtmlElement

from analysis.scores import findings
from annotation.models import Kind
from annotation.payout import batches
from tests import factories

# Columns that identify a row and need no explanation.
NAMES = {"Shots", "Group", "Training split", "Split", "Batch", "SHA-256"}
NUMBER = re.compile(r"[+−<-]?\s?\.?\d")


def text_of(cell: HtmlElement) -> str:
    """Return the text of a cell without its tooltip."""
    return "".join(cell.xpath(".//text()[not(ancestor::*[@class='tip-text'])]")).strip()


def tips(part: HtmlElement) -> list[HtmlElement]:
    """Return the words that show their meaning on hover."""
    return part.xpath(".//tip-word")


def unexplained(page: HtmlElement) -> set[str]:
    """Return numeric columns explained neither in the heading, nor in the row, nor in the cell."""
    missing = set()
    for table in page.iter("table"):
        *_groups, head = table.xpath("./thead/tr")
        for row in table.xpath("./*[self::tbody or self::tfoot]/tr"):
            for name, cell in zip(head, row, strict=True):
                heading, value = text_of(name), text_of(cell)
                is_number = NUMBER.match(value) and not cell.xpath(".//time")
                explained = tips(name) or tips(row[0]) or tips(cell)
                if is_number and not explained and heading not in NAMES:
                    missing.add(f"{heading}: {value}")
    return missing


@pytest.fixture
def pages(client, researcher) -> dict[str, str]:
    """Pages of a completed study with a model and a payment batch."""
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
    batches.prepare(study, researcher)
    findings.job_of(study, Kind.PERSON, owner=researcher)
    call_command("run_jobs", verbosity=0)
    client.force_login(researcher)
    someone = study.participations.filter(kind=Kind.PERSON).first()
    addresses = {
        "studies": (), "models": (), "planner": (), "model": ("a-model",),
        "figure_table": (study.name, "shots"),
        "participation": (study.name, someone.pseudonym),
    } | dict.fromkeys(
        ("study", "human_performance", "training", "examples", "analysis", "study_models",
         "study_differences", "sensitivity", "pay", "people", "figures"), (study.name,)
    )  # fmt: skip
    return {
        name: client.get(reverse(name, args=args), follow=True).content.decode()
        for name, args in addresses.items()
    }


@pytest.mark.long
def test_each_numeric_column_is_explained_in_a_list_and_on_hover(pages):
    for name, text in pages.items():
        page = lxml.html.fromstring(text)
        assert unexplained(page) == set(), name
        assert page.xpath("//table") or name in ("participation", "figures"), name
        assert not page.xpath("//abbr"), name
        # The table of a figure is loaded into the figures page, which has the script.
        assert "js/tip" in pages["figures" if name == "figure_table" else name], name
        ids = Counter(page.xpath("//@id"))
        assert [key for key, times in ids.items() if times > 1] == [], name
        listed = set(page.xpath("//details[@class='tip-meanings']//dd/@id"))
        assert set(page.xpath("//tip-word/@for")) <= listed, name

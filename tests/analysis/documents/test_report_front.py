"""The head of a report, the numbering of its tables and figures, and printing."""

import json
import re
import unicodedata

import pypdf
import pytest
from django.db import connection
from django.urls import reverse
from lxml.html import fromstring

from analysis.documents import blocks, preregistration, report
from analysis.documents.checklists import short_form
from analysis.export import release
from annotation.models import ReportAnswer, Study
from annotation.monitoring import report_answers
from annotation.study import design, lifecycle
from tests import factories
from tests.analysis.documents import reports

ITEMS = {
    "item-title": "People after a handful", "item-authors": "Ada <Lovelace>\nGrace Hopper",
    "item-institute": "Analytical Society, London", "item-licence": "CC-BY-4.0",
    "item-1.9": "Board 7, no. 12",
}  # fmt: skip
EXPECTED = "H1: more shots,\nhigher scores & <better>."


@pytest.fixture
def study(researcher):
    return reports.make_study(researcher)


@pytest.mark.long
def test_the_head_names_authors_affiliation_ethics_and_licence(ada, study):
    address = reverse("report", args=[study.name])
    assert ada.post(address, ITEMS | {"versions": "{}"}).status_code == 302
    page = ada.get(address).content.decode()
    head = page.split("<h2")[0]
    for words in ("<h1>People after a handful</h1>", "Ada &lt;Lovelace&gt;, Grace Hopper",
                  "Analytical Society, London", "Board 7, no. 12", "Attribution 4.0",
                  study.manifest_hash):  # fmt: skip
        assert words in head, words
    text = ada.get(reverse("report_file", args=[study.name])).content.decode()
    assert text.startswith("# People after a handful\n\nAda \\<Lovelace\\>, Grace Hopper\n")
    reply = ada.post(address, {"item-licence": "WTFPL", "versions": "{}"})
    assert reply.status_code == 422
    assert "Choose one of CC-BY-4.0" in reply.content.decode()
    assert study.report_answers.get(item="licence").text == "CC-BY-4.0"


def test_the_contents_lead_to_every_section_of_the_report(ada, study):
    page = fromstring(ada.get(reverse("report", args=[study.name])).content)
    links = page.get_element_by_id("contents").xpath(".//a")
    sections = page.xpath("//section[not(contains(@class, 'doc-on-screen'))]/h2")
    assert [(link.get("href"), link.text) for link in links] == [
        (f"#{heading.get('id')}", heading.text) for heading in sections
    ]
    assert "Human performance" in [link.text for link in links]


@pytest.mark.long
def test_the_data_page_says_that_an_open_study_lacks_later_answers(ada, study):
    address = reverse("release", args=[study.name])
    page = " ".join(ada.get(address).content.decode().split())
    assert "The study is not closed. A bundle prepared now won't include later answers." in page
    assert "contain platform ids or names, but free text might" in page
    assert "if the server has" not in page
    factories.seat(study.scenarios.first())
    page = " ".join(ada.get(address).content.decode().split())
    assert "The study is not closed, and 1 annotator is in progress." in page
    lifecycle.change_status(study, "close", study.owner)
    assert "The study is not closed" not in ada.get(address).content.decode()


@pytest.mark.long
@pytest.mark.parametrize("name", ["release", "report"])
def test_publish_ticks_what_is_stated_and_links_to_the_rest(ada, study, name):
    address, of = reverse("report", args=[study.name]), len(short_form.FIELDS)

    def to_do() -> dict[str, str]:
        page = ada.get(reverse(name, args=[study.name])).content.decode()
        words = " ".join(page.split())
        listed = page.partition('aria-labelledby="to-publish"')[2].partition("</ul>")[0]
        done = 6 - listed.count("Open:")
        assert f"<strong>Before you publish: {done} of 6 done</strong>" in words
        assert listed.count("<li>") == 6
        return {words: link for link, words in re.findall(r'<a href="([^"]*)">([^<]*)</a>', listed)}

    first = next(iter(short_form.FIELDS))
    questions = f"Checklist questions: 0 of {of} answered"
    assert to_do() == {
        "Title": f"{address}#item-title", "Authors": f"{address}#item-authors",
        "Licence": f"{address}#item-licence", "Ethics board": f"{address}#item-1.9",
        "Tables and figures": f"{address}#item-exhibits", questions: f"{address}#item-{first}",
    }  # fmt: skip
    page = ada.get(address).content.decode()
    assert all(f'id="{link.partition("#")[2]}"' in page for link in to_do().values())
    assert ada.post(address, ITEMS | {"versions": "{}"}).status_code == 302
    assert list(to_do()) == ["Tables and figures", f"Checklist questions: 1 of {of} answered"]
    chosen = {"item-exhibits": ["", "human-performance", "models"], "versions": "{}"}
    assert ada.post(address, chosen).status_code == 302
    assert list(to_do()) == [f"Checklist questions: 1 of {of} answered"]
    for item in short_form.FIELDS:
        defaults = {"text": "Yes", "by": study.owner}
        ReportAnswer.objects.get_or_create(study=study, item=item, defaults=defaults)
    assert to_do() == {}


def test_tables_chosen_for_the_paper_are_marked_for_latex(ada, study):
    def chosen() -> list[str]:
        page = ada.get(reverse("latex", args=[study.name]), follow=True).content.decode()
        return re.findall(r'<th scope="row">([^<]+)</th>\s*<td>yes</td>', page)

    assert chosen() == []
    sent = {"item-exhibits": ["", "human-performance", "models"], "versions": "{}"}
    address = reverse("report", args=[study.name])
    assert ada.post(address, sent).status_code == 302
    assert chosen() == ["Human performance", "Humans and models by task"]
    assert 'value="models" checked' in ada.get(address).content.decode()


@pytest.mark.long
def test_a_program_can_fill_in_the_title_page(client, study, researcher):
    key = factories.bearer(researcher, "read", "run", study=study)
    address = reverse("api_report", args=[study.name])

    def post(sent):
        return client.post(address, json.dumps(sent), content_type="application/json", headers=key)

    assert post({"authors": "Ada", "licence": "CC0-1.0"}).status_code == 200
    refused = post({"licence": "mine"})
    assert refused.status_code == 422
    assert "Choose one of" in refused.content.decode()
    assert study.report_answers.get(item="licence").text == "CC0-1.0"


def test_a_program_that_saves_at_the_same_time_is_told_so(client, study, researcher):
    headers = factories.bearer(researcher, "run", study=study)
    reads = []

    def interfere(execute, sql, *rest):
        """Store another answer after the request has read the versions of the answers."""
        result = execute(sql, *rest)
        if "annotation_reportanswer" in sql and not reads:
            reads.append(sql)
            report_answers.save(study, {"authors": "Grace"}, researcher)
        return result

    with connection.execute_wrapper(interfere):
        reply = client.post(
            reverse("api_report", args=[study.name]), {"authors": "Ada"}, "application/json",
            headers=headers,
        )  # fmt: skip
    assert reply.status_code == 409
    assert "item authors, now “Grace”" in reply.json()["detail"]
    assert study.report_answers.get(item="authors").text == "Grace"


@pytest.mark.long
def test_tables_and_figures_are_numbered_in_their_order(ada, study):
    page = ada.get(reverse("report", args=[study.name])).content.decode()
    for word, place in (("Table", "caption"), ("Figure", "figcaption")):
        numbers = [int(n) for n in re.findall(rf"<{place}>{word} (\d+)\. ", page)]
        assert numbers == list(range(1, len(numbers) + 1))
        assert numbers
    text = blocks.as_markdown(report.for_study(study))
    assert text.index("**Table 1. Tasks**") < text.index("**Table 2. Human performance**")


@pytest.mark.long
def test_hypotheses_are_frozen_with_the_design(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), hypotheses=EXPECTED)
    assert json.loads(study.manifest)["hypotheses"] == EXPECTED
    hashed = study.manifest_hash
    plan = blocks.as_markdown(preregistration.for_study(study))
    assert EXPECTED in plan
    assert "contains no hypotheses" not in plan
    for name in ("report", "preregistration"):
        page = ada.get(reverse(name, args=[study.name])).content.decode()
        assert "higher scores &amp; &lt;better&gt;." in page
    study.hypotheses = "H1: fewer."
    with pytest.raises(design.DesignError):
        design.save_draft(study, list(study.tasks.all()))
    assert Study.objects.get(pk=study.pk).manifest_hash == hashed
    other = factories.make_study(researcher, factories.make_task(name="other"))
    assert "contains no hypotheses" in blocks.as_markdown(preregistration.for_study(other))


@pytest.mark.long
def test_each_page_footer_names_study_design_and_version(ada, study, settings):
    page = ada.get(reverse("report", args=[study.name])).content.decode()
    address = reverse("report_style", args=[study.name])
    assert f'<link rel="stylesheet" href="{address}">' in page
    style = ada.get(address)
    assert style["Content-Type"].startswith("text/css")
    text = style.content.decode()
    assert f"{study.name} · design {study.manifest_hash[:12]} · Handful {settings.VERSION}" in text
    assert text.count('"') == 2


@pytest.mark.long
def test_the_report_prints_as_a4_with_numbered_pages(study, tmp_path, chromium):
    folder = tmp_path / "bundle"
    release.write_release(study, folder)
    page = chromium.new_page(color_scheme="light")
    page.goto((folder / "report.html").as_uri())
    page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True, print_background=True)
    page.close()
    pdf = pypdf.PdfReader(tmp_path / "report.pdf")
    words = ""
    for number, page in enumerate(pdf.pages, start=1):
        sides = [float(page.mediabox.width), float(page.mediabox.height)]
        assert sides == pytest.approx([595.3, 841.9], abs=1)  # A4, in points
        # Two letters of a hash may be printed as one ligature.
        text = unicodedata.normalize("NFKC", page.extract_text())
        assert f"{number} / {len(pdf.pages)}" in text
        assert f"{study.name} · design {study.manifest_hash[:12]} · Handful" in text
        words += text
    assert "Figure 1." in words

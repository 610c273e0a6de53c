"""Humans and models scored alike: worked numbers, the page, and the CSVs behind it."""

import csv
import io
import math
import re
from html import unescape

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from lxml.html import fromstring

from analysis.models import differences
from analysis.models import models as model_tables
from analysis.scores.scores import aggregate, human_table4, machine_tables5_6, over
from analysis.stats import two_way
from annotation.models import Kind, Study
from tasks.formats import Record
from tasks.models import Task
from tests import factories

PAGES = ("models", "differences")
SIX = ["SST-2", "MNLI", "CoNLL03", "WikiANN", "SQuADv2", "ReCoRD"]


# Worked numbers ----------------------------------------------------------------------------------


def test_scores_over_splits_have_mean_and_both_sds():
    scores = over([174 / 210, 175 / 210, 177 / 210], of=5)
    assert (scores.mean, scores.sd_ddof0, scores.sd_ddof1) == pytest.approx(
        (83.4921, 0.5939, 0.7274), abs=5e-5
    )
    assert (scores.n, scores.of) == (3, 5)
    assert over([0.5], of=5).text == "50.0 ± –"
    assert (over([0.5], of=5).shown, over([0.5], of=5).lacks_sd) == ("50.0", True)
    assert over([], of=5).text == over([], of=5).shown == "–"
    assert not over([], of=5).lacks_sd


@pytest.mark.parametrize(
    ("model", "sd_of_sum"),
    [("T5-Large", 6.70), ("BERT-Large", 7.82), ("BERT-Base", 9.22), ("DeBERTa-Large", 17.79),
     ("RoBERTa-Large", 10.56)],
)  # fmt: skip
def test_published_aggregated_sds_are_those_of_the_sum(model, sd_of_sum):
    rows = [machine_tables5_6()[model, "FT", task, "30"] for task in SIX]
    whole = aggregate([row.mean for row in rows], [row.spread for row in rows])
    assert whole.sd_of_sum == pytest.approx(sd_of_sum, abs=0.005)
    assert whole.sd_of_average == pytest.approx(whole.sd_of_sum / 6)
    if model == "T5-Large":
        assert whole.sd_of_average == pytest.approx(1.12, abs=0.005)


@pytest.mark.parametrize(
    ("shots", "mean", "sd_of_sum", "sd_of_average"),
    [(0, 80.12, 2.32, 0.39), (10, 82.17, 8.42, 1.40), (20, 84.23, 2.05, 0.34),
     (30, 81.42, 3.10, 0.52)],
)  # fmt: skip
def test_published_human_scores_aggregate_as_printed(shots, mean, sd_of_sum, sd_of_average):
    rows = [human_table4()[task, shots] for task in SIX]
    whole = aggregate([row.mean for row in rows], [row.spread for row in rows])
    assert (whole.mean, whole.sd_of_sum, whole.sd_of_average) == pytest.approx(
        (mean, sd_of_sum, sd_of_average), abs=0.006
    )


def test_the_published_tables_are_complete():
    figures = machine_tables5_6()
    assert len(figures) == 158
    assert figures["GPT-3", "ICL", "SST-2", "20"].text == "92.0 ± 0.7"
    assert math.isnan(figures["T5-Large", "FT", "ReCoRD", "all"].spread)


def test_clustered_standard_errors_use_sums_of_clusters():
    values = [1.0, 0.0, -1.0, 0.5]
    assert differences.cluster_sums(values, list("aabb")) == [1, -0.5]
    plain = differences.clustered_se(values, list("abcd"))
    # SD with ddof 0, divided by the square root of n.
    assert plain == pytest.approx(math.sqrt(2.1875 / 4) / 2)
    # The clusters' deviations from .125 sum to .75 and -.75.
    assert differences.clustered_se(values, list("aabb")) == pytest.approx(0.75 * math.sqrt(2) / 4)


# A study -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored(module_researcher):
    """At 0 and 2 shots, one annotator is always right and one always answers "no answer".

    Four of the six examples (1, 2, 4 and 5) have one or two places, and the others none.
    """
    study = factories.make_study(
        module_researcher,
        factories.make_task(test_size=6, splits=5),
        annotators=2,
        title="A <b>study",
    )
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
        factories.work_through(factories.seat(scenario), lambda turn: [])
    return study.pk


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


@pytest.fixture
def toy(researcher, study):
    """A model with two of five splits: always empty on one, wrong only for two places on the other.

    Neither is the first split, which people have.
    """
    task = study.tasks.get()
    factories.predict(researcher, "toy", task, 2, 3, lambda _example: [])
    factories.predict(researcher, "toy", task, 2, 4, lambda e: e.gold if len(e.gold) == 1 else [])


def rows_of(study, kind=Kind.PERSON) -> dict:
    return {
        (table.shots, str(row)): row
        for table in model_tables.tables(study, kind)
        for row in table.rows
    }


def test_people_and_models_share_a_table_each_over_its_own_units(study, toy):
    table = rows_of(study)
    assert list(table) == [
        (0, "People, this study"),
        (2, "People, this study"),
        (2, "toy, uploaded"),
    ]
    (people,), (model,) = table[2, "People, this study"].scores, table[2, "toy, uploaded"].scores
    assert (people.mean, people.n, people.of) == (pytest.approx(200 / 3), 2, 2)
    assert (model.mean, model.n, model.of) == (pytest.approx(50), 2, 5)
    assert model.sd_ddof0 == pytest.approx(100 / 6)
    assert model.sd_ddof1 == pytest.approx(100 / 6 * math.sqrt(2))
    ((_score, words),) = table[2, "toy, uploaded"].cells
    assert "over 2 of 5 splits" in words
    assert "23.57 with ddof 1, 16.67 with ddof 0" in words


def test_an_answer_scores_the_same_from_a_person_and_a_model(researcher, study):
    """One of the two annotators is always right, and the other answers like the model."""
    factories.predict(researcher, "empty", study.tasks.get(), 2, 1, lambda _example: [])
    (people,) = rows_of(study)[2, "People, this study"].scores
    (model,) = rows_of(study)[2, "empty, uploaded"].scores
    assert (100 + model.mean) / 2 == pytest.approx(people.mean)


@pytest.mark.long
def test_an_excluded_annotator_is_in_no_row_and_no_difference(study, toy):
    before = differences.differences(study, Kind.PERSON)
    seat = study.participations.filter(scenario__shots=2).first()  # the one who is always right
    seat.in_analysis, seat.seat_number = False, None
    seat.save()
    (score,) = rows_of(study)[2, "People, this study"].scores
    assert (score.mean, score.n) == (pytest.approx(100 / 3), 1)
    (after,) = differences.differences(study, Kind.PERSON)
    assert (before[0].annotators, after.annotators) == (2, 1)
    assert after.difference == pytest.approx(100 / 3 - 50)


@pytest.mark.long
def test_kinds_never_mix(study, toy):
    study.participations.update(kind=Kind.SIMULATED)
    assert rows_of(study)[2, "People, this study"].scores[0].n == 0
    assert differences.differences(study, Kind.PERSON) == []
    assert rows_of(study, Kind.SIMULATED)[2, "Simulated (not people), this study"]
    assert len(differences.differences(study, Kind.SIMULATED)) == 1


def test_predictions_for_another_task_version_do_not_count(researcher, study):
    newer = factories.make_task(test_size=5, splits=5)
    assert newer.version == 2
    factories.predict(researcher, "toy", newer, 2, 1)
    assert (2, "toy, uploaded") not in rows_of(study)
    assert differences.differences(study, Kind.PERSON) == []


def test_shots_of_models_only_get_a_table(researcher, study):
    factories.predict(researcher, "toy", study.tasks.get(), 4, 1)
    assert [shots for shots, _name in rows_of(study)] == [0, 2, 4]


def test_the_aggregate_of_one_task_is_over_one_task(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    factories.predict(researcher, "toy", study.tasks.get(), 2, 1)
    said = rows_of(study)[2, "toy, uploaded"].aggregate_explanation
    assert said == "toy, uploaded: mean over 1 task; a task has no SD."


@pytest.mark.long
def test_an_aggregate_needs_every_task(researcher):
    first, second = (factories.make_task(name=name, splits=2) for name in ("one", "two"))
    study = factories.make_study(researcher, first, second, shots=[2])
    for number, right in ((1, True), (2, False)):
        predict = None if right else lambda _example: []
        factories.predict(researcher, "toy", first, 2, number, predict)
    row = rows_of(study)[2, "toy, uploaded"]
    assert row.aggregate is None
    assert "1 of 2 tasks" in row.aggregate_explanation
    for number in (1, 2):
        factories.predict(researcher, "toy", second, 2, number)
    whole = rows_of(study)[2, "toy, uploaded"].aggregate
    # Task one: 100 and 50; task two: 100 twice.
    assert (whole.mean, whole.sd_of_sum) == pytest.approx((87.5, 50 / math.sqrt(2)))
    assert whole.sd_of_average == pytest.approx(25 / math.sqrt(2))


# Differences -------------------------------------------------------------------------------------


def test_differences_are_paired_by_example(study, toy):
    (difference,) = differences.differences(study, Kind.PERSON)
    assert (difference.task, difference.shots, difference.model) == ("toy-places", 2, "toy")
    assert (difference.annotators, difference.splits, difference.examples, difference.contexts) == (
        2,
        2,
        6,
        6,
    )
    assert (difference.training, difference.split_numbers) == ("other splits", "3; 4")
    assert (difference.human_mean, difference.model_mean) == pytest.approx((200 / 3, 50))
    # Humans score .5 and the model .5 with one place, .5 and 0 with two, and equally with none.
    assert difference.difference == pytest.approx(100 / 6)
    assert difference.p_sign_flip == pytest.approx(0.5)  # 2 of 4 flips are as extreme
    assert difference.floor == difference.p_sign_flip
    # Each person minus the model: with one place, with two, and with none.
    gaps = [[0.5, 0.5, 1, 1, 0, 0], [-0.5, -0.5, 0, 0, 0, 0]]
    people = two_way.mean_estimate(np.array(gaps))
    low, high = people.interval()
    assert difference.p == difference.p_holm == pytest.approx(people.p())
    assert (difference.low, difference.high) == pytest.approx((100 * low, 100 * high))
    assert difference.smallest_margin == pytest.approx(100 * people.reach(0.9))


def test_people_are_a_sample_when_compared_with_a_model(study, toy):
    """Two people with very different scores give a wide interval, however many examples agree."""
    (difference,) = differences.differences(study, Kind.PERSON)
    assert difference.low < difference.difference - 200 < difference.difference
    assert difference.se > difference.se_clustered


def test_one_person_is_too_few_for_an_interval(researcher, study, toy):
    seat = study.participations.filter(scenario__shots=2).first()
    seat.in_analysis, seat.seat_number = False, None
    seat.save()
    (difference,) = differences.differences(study, Kind.PERSON)
    assert difference.no_interval == "one annotator"
    assert math.isnan(difference.p)
    assert math.isnan(difference.low)
    assert not math.isnan(difference.p_sign_flip)


def test_examples_of_one_context_are_flipped_together(researcher):
    test = [Record(f"q{i}", ("Oslo and Lima.",), f"Place {i}?", ("Oslo",)) for i in range(3)]
    task = factories.make_task(test=test)
    study = factories.make_study(researcher, task, shots=[0], annotators=1)
    factories.work_through(factories.seat(study.scenarios.get()))
    factories.predict(researcher, "toy", task, 0, None, lambda _example: [])
    (difference,) = differences.differences(study, Kind.PERSON)
    assert (
        difference.examples,
        difference.contexts,
        difference.difference,
        difference.p_sign_flip,
    ) == (3, 1, 100, 1)


@pytest.mark.long
def test_holm_corrects_for_all_differences_of_the_study(researcher, study, toy):
    factories.predict(researcher, "other", study.tasks.get(), 2, 1, lambda _example: ["x"])
    compared = differences.differences(study, Kind.PERSON)
    assert sorted(row.p_sign_flip for row in compared) == pytest.approx([2 / 64, 0.5])
    smaller, larger = sorted(compared, key=lambda row: row.p)
    assert smaller.p_holm == pytest.approx(min(1, 2 * smaller.p))
    assert larger.p_holm == pytest.approx(max(larger.p, smaller.p_holm))


@pytest.mark.long
def test_cached_differences_follow_changed_files(researcher, study, toy):
    (first,) = differences.differences(study, Kind.PERSON)
    assert str(differences.differences(study, Kind.PERSON)) == str([first])
    model = study.tasks.get().prediction_files.first().model
    model.files.get(split_number=3).delete()
    (second,) = differences.differences(study, Kind.PERSON)
    assert (second.splits, second.model_mean) == (1, pytest.approx(200 / 3))


def test_the_examples_that_differ_most_come_first(study, toy):
    (difference,) = differences.differences(study, Kind.PERSON)
    pairs = differences.pairs(study, Kind.PERSON, difference)
    assert [pair.example.source_id for pair in pairs[:2]] == ["test-2", "test-5"]
    assert [pair.difference for pair in pairs] == pytest.approx([50, 50, 0, 0, 0, 0])
    examples = [pair.example for pair in pairs]
    texts = differences.predicted_texts(difference, examples)
    assert texts[examples[0].pk] == [((), 2)]
    example = next(example for example in examples if len(example.gold) == 1)
    assert sorted(texts[example.pk]) == [((), 1), (tuple(example.gold), 1)]


# The page ----------------------------------------------------------------------------------------


def table_of(client, study, table, **query) -> list[dict]:
    reply = client.get(reverse("study_models_file", args=[study.name, table]), query)
    assert reply.status_code == 200
    return list(csv.DictReader(io.StringIO(reply.content.decode(), newline="")))


@pytest.mark.long
def test_the_page_shows_people_models_and_where_they_differ(ada, study, toy):
    scores = reverse("study_models", args=[study.name])
    differ = f"{scores}?show=differences"
    assert scores in ada.get(reverse("human_performance", args=[study.name])).content.decode()
    page = ada.get(scores).content.decode()
    for words in ("50.0 ± 23.6", "n = 2 of 5", "66.7 ± 47.1", f'href="{scores}?show=differences"'):
        assert words in page, words
    assert "<dt>FT, PT, ICL</dt>" in page
    # Other views are not repeated below, neither at once nor later.
    for words in ("hx-get", "Largest differences", "follows the rules"):
        assert words not in page, words
    page = ada.get(differ).content.decode()
    for words in ("+16.7", "0.500", "95 % CI", "test-2"):
        assert words in page, words
    assert f"paired by example. {differences.LEFT_OUT}" in page
    main, _summary, further = page.partition("<summary>Sensitivity analysis</summary>")
    assert "sign flip</tip-word>" not in main
    assert "sign flip</tip-word>" in further
    assert "A <b>study" not in page
    assert "A <b>study" in unescape(page)


def test_rows_are_in_the_order_of_their_averages(researcher):
    tasks = [factories.make_task(name=name, test_size=4, splits=1) for name in ("one", "two")]
    study = factories.make_study(researcher, *tasks, shots=[2])
    for name, right in (("a-half", 2), ("b-full", 4), ("c-none", 0)):
        for task in tasks:
            ids = {each.source_id for each in task.test_split.examples.all()[:right]}
            factories.predict(
                researcher, name, task, 2, 1,
                lambda each, ids=ids: each.gold if each.source_id in ids else ["nowhere"],
            )  # fmt: skip
    factories.predict(researcher, "d-part", tasks[0], 2, 1, lambda each: each.gold)
    (table,) = model_tables.tables(study, Kind.PERSON)
    names = [row.name for row in table.ranked if row.link]
    assert names == ["b-full", "a-half", "c-none", "d-part"]


def test_predictions_are_uploaded_on_the_page_of_a_study(ada, study):
    task = study.tasks.get()
    page = reverse("study_models", args=[study.name])
    form = fromstring(ada.get(page).content).get_element_by_id("upload").forms[0]
    assert dict(form.fields)["return_to"] == page

    def sent(text: bytes, to: str) -> dict:
        file = SimpleUploadedFile(f"{task.name}_2_1.jsonl", text)
        return {"name": "new", "files": [file], "return_to": to}

    refused = ada.post(form.action, sent(b"{}", page))
    assert fromstring(refused.content).xpath("//input[@name='return_to']")[0].value == page
    data = factories.prediction_lines(task)
    assert ada.post(form.action, sent(data, page)).url == page
    task.prediction_files.get(model__name="new").delete()
    for foreign in ("https://example.org/", "//example.org/", ""):
        assert ada.post(form.action, sent(data, foreign)).url == reverse("model", args=["new"])
        task.prediction_files.get(model__name="new").delete()


@pytest.mark.long
def test_predicted_texts_are_escaped(ada, researcher, study):
    factories.predict(researcher, "toy", study.tasks.get(), 2, 1, lambda _example: ["<img src=x>"])
    page = ada.get(reverse("study_differences", args=[study.name]), follow=True).content.decode()
    assert "&lt;img src=x&gt;" in page
    assert "<img src=x>" not in page


@pytest.mark.long
def test_each_table_can_be_had_as_csv_with_all_digits(ada, study, toy):
    scores = {(row["name"], row["shots"]): row for row in table_of(ada, study, "scores")}
    toys = scores["toy", "2"]
    assert (float(toys["mean"]), float(toys["sd_ddof0"])) == pytest.approx((0.5, 1 / 6))
    assert (toys["source"], toys["sd_over"], toys["n"], toys["of"]) == (
        "uploaded", "splits", "2", "5",
    )  # fmt: skip
    assert "sd:splits" in toys["recipe"]
    assert "sd:annotators" in scores["People", "2"]["recipe"]
    (aggregated,) = (row for row in table_of(ada, study, "aggregates") if row["name"] == "toy")
    assert float(aggregated["sd_of_sum"]) == float(aggregated["sd_of_average"])
    (row,) = table_of(ada, study, "differences")
    assert (row["kind"], row["model"], row["p_holm"]) == ("person", "toy", row["p"])
    assert float(row["p_sign_flip"]) == 0.5
    examples = table_of(ada, study, "examples", pair="toy-places/2/toy")
    assert len(examples) == 6
    assert math.fsum(float(row["difference"]) for row in examples) / 6 == pytest.approx(1 / 6)


def test_a_study_without_models_or_answers_says_what_is_missing(ada, researcher):
    empty = factories.make_study(researcher, factories.make_task())
    assert ada.get(reverse("study_models", args=[empty.name])).status_code == 200
    page = ada.get(reverse("study_differences", args=[empty.name]), follow=True).content.decode()
    assert "you need annotators who have completed a task" in page
    assert table_of(ada, empty, "differences") == []
    assert table_of(ada, empty, "scores") == []
    assert ada.get(reverse("study_models_file", args=[empty.name, "examples"])).status_code == 404


def test_an_unknown_name_kind_or_format_is_not_found(ada, study, toy):
    assert (
        ada.get(reverse("study_models", args=[study.name]), {"kind": "nobody"}).status_code == 404
    )
    address = reverse("study_differences", args=[study.name])
    for query in ({"kind": "nobody"}, {"pair": "toy-places/2/nobody"}, {"pair": ""}):
        assert ada.get(address, query, follow=True).status_code == 404
    assert ada.get(reverse("study_models_file", args=[study.name, "none"])).status_code == 404


def test_a_foreign_study_is_not_found_and_anonymous_must_sign_in(client, other_researcher, study):
    pages = [
        ("study_models", []), ("study_differences", []), ("study_models_file", ["scores"]),
    ]  # fmt: skip
    for name, rest in pages:
        reply = client.get(reverse(name, args=[study.name, *rest]))
        assert reply["Location"].startswith(reverse("login"))
    client.force_login(other_researcher)
    for name, rest in pages:
        assert client.get(reverse(name, args=[study.name, *rest]), follow=True).status_code == 404


@pytest.mark.long
def test_models_page_query_count_is_constant_in_models(ada, researcher, study, toy):
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            for page in PAGES:
                address = reverse(f"study_{page}", args=[study.name])
                assert ada.get(address, follow=True).status_code == 200
        return len(asked)

    factories.predict(researcher, "a", study.tasks.get(), 2, 1)
    queries()  # caches what is queried only once
    factories.predict(researcher, "b", study.tasks.get(), 2, 1)
    of_few = queries()
    for name in ("c", "d", "e"):
        factories.predict(researcher, name, study.tasks.get(), 2, 1)
    assert queries() == of_few


@pytest.mark.real_data
@pytest.mark.long
def test_published_figures_are_listed_and_marked_as_published(ada, researcher, clues):
    call_command("import_clues", str(clues), "--task", "CoNLL03", "WikiANN", verbosity=0)
    conll, wikiann = Task.objects.exclude(name="toy-places").order_by("name")
    study = factories.make_study(researcher, conll, wikiann, shots=[0, 10], annotators=1)
    for task in (conll, wikiann):
        for number in range(1, 6):
            factories.predict(researcher, "empty", task, 10, number, lambda _example: [])
    table = rows_of(study)
    empty, bert = table[10, "empty, uploaded"], table[10, "BERT-Base FT, published"]
    for ours, printed in zip(empty.scores, bert.scores, strict=True):
        assert round(ours.mean, 1) == printed.mean
        assert (ours.sd_ddof1, ours.n, ours.of) == (0, 5, 5)
    assert empty.aggregate.mean == pytest.approx((51.3333 + 62.8333) / 2, abs=1e-4)
    assert (0, "People, published") in table
    assert (10, "GPT-3 ICL, published") not in table
    assert ("all", "BERT-Base FT, published") in table
    rows = table_of(ada, study, "scores")
    published = [row for row in rows if row["source"] == "published"]
    assert {row["shots"] for row in published} == {"0", "10", "all"}
    assert all(row["sd_ddof1"] == row["recipe"] == "" for row in published)
    page = ada.get(reverse("study_models", args=[study.name])).content.decode()
    assert "BERT-Base FT, published" in page
    assert "quoted from CLUES" in page


@pytest.mark.long
def test_a_mean_without_sd_stands_alone_on_pages(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(test_size=6), shots=[0])
    factories.work_through(factories.seat(study.scenarios.get()))
    for name in ("study_models", "human_performance"):
        page = ada.get(reverse(name, args=[study.name])).content.decode()
        assert "<strong>100.0" in page
        assert "± –" not in page
        assert 'class="no-sd"' in page
    text = ada.get(reverse("human_performance_file", args=[study.name, "md"])).content.decode()
    assert "100.0 ± –" in text


def test_only_the_fields_that_an_upload_needs_are_unfolded(ada, db):
    page = ada.get(reverse("models")).content.decode()
    form = page.partition('enctype="multipart/form-data"')[2].partition("</form>")[0]
    needed, _summary, optional = form.partition("<summary>Describe the model (optional)</summary>")
    assert re.findall(r'name="(\w+)"', needed)[-2:] == ["name", "files"]
    assert 'name="description"' in optional or 'name="title"' in optional
    reply = ada.post(reverse("models"), {"name": "a/b"})
    assert "<details open>" in reply.content.decode()

"""Human ceilings (each annotator against the majority of the others) and the audit of golds."""

import csv
import io
import math
from collections import Counter

import pandas as pd
import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.documents.blocks import Grid
from analysis.examples import difficulty
from analysis.scores import findings
from analysis.scores.means import ceilings
from annotation.models import Kind
from tasks.importing import read_clues
from tasks.metrics import s1
from tests import factories
from tests.analysis.documents import reports
from tests.analysis.examples.test_examples import one_example, say
from tests.analysis.export.tampering import Export

TEXT = "We went to Oslo, Lima and Cairo."


def rows_of(*answers: str, choices: bool = False) -> pd.DataFrame:
    """Return answers, one string per example: a letter for each annotator, "-" for no answer."""
    records = [
        ("toy", 0, f"a{place}", example, "", 0.5, frozenset(letter) - {"-"}, choices, [], "set")
        for example, unit in enumerate(answers)
        for place, letter in enumerate(unit)
    ]
    columns = ["task", "shots", "annotator", "example", "context", "s1", "texts", "is_one_choice"]
    return pd.DataFrame(records, columns=[*columns, "gold", "gold_rule"])


def test_each_annotator_is_compared_with_the_others_majority():
    # Worked by hand, as sets. AAABB: an A faces AABB, whose majority is empty, and a B faces AAAB,
    # whose majority is A, so all score 0. AAAAA: all score 1. AAAA-: each A scores 1, and "-" 0.
    (row,) = ceilings(rows_of("AAABB", "AAAAA", "AAAA-"))
    assert row.leave_one_out == pytest.approx(100 * (0 + 5 + 4) / 15)
    assert (row.compared, row.answers, row.n, row.no_leave_one_out) == (15, 15, 5, "")


@pytest.mark.parametrize("empty", ["C", "-"])
def test_labels_and_options_use_plurality_and_ties_do_not_count(empty):
    # Worked by hand. AABBC: an A faces ABBC, whose plurality is B, so it scores 0, as does each B;
    # C faces a tie and isn't compared. AABCD: an A faces a tie; B, C and D face AA and score 0.
    # Neither has a majority of more than half. "No answer" is a choice like the others.
    (row,) = ceilings(rows_of(f"AABB{empty}", "AABCD", f"AAAA{empty}", choices=True))
    assert (row.compared, row.answers) == (4 + 3 + 5, 15)
    means = [0.5, 0.5, 1 / 3, 1 / 3, 0]  # scores of the five: 0 1; 0 1; 0 0 1; 0 0 1; 0 0
    assert row.leave_one_out == pytest.approx(100 * sum(means) / 5)


def test_options_are_not_scored_as_sets_of_texts():
    """An A in AAABC faces A, A, B and C: A is their plurality, but no text has a majority."""
    plurality, sets = (
        next(ceilings(rows_of("AAABC", choices=chosen))).leave_one_out for chosen in (True, False)
    )
    assert plurality == pytest.approx(100 * 3 / 5)
    assert sets == 0


@pytest.mark.parametrize("choices", [True, False])
def test_fewer_than_five_annotators_have_no_human_ceiling(choices):
    """With two others, a majority means that both agree, which happens mostly on easy examples."""
    for number in range(1, 5):
        (row,) = ceilings(rows_of("A" * number, "A" * number, choices=choices))
        assert math.isnan(row.leave_one_out)
        assert row.no_leave_one_out == "fewer than five annotators"
        assert (row.compared, row.best, row.worst) == (0, 50, 50)
    (row,) = ceilings(rows_of("AAAAA", choices=choices))
    assert (row.leave_one_out, row.no_leave_one_out) == (100, "")


@pytest.mark.long
def test_options_are_by_plurality_in_every_table(ada, researcher, tmp_path):
    """Four of eight choose the gold and two each a wrong option: a plurality, but no majority."""
    study = factories.make_study(researcher, factories.make_kind("option"), shots=[2], annotators=8)
    for seat in range(8):
        factories.work_through(
            factories.seat(study.scenarios.get()),
            lambda turn, seat=seat: (
                turn.example.gold
                if seat < 4
                else [sorted({*turn.example.options} - {*turn.example.gold})[seat % 2]]
            ),
        )
    (row,) = ceilings(findings.answered(study, Kind.PERSON))
    assert (row.leave_one_out, row.compared) == (50, row.answers)
    (api,) = ada.get(reverse("api_analysis", args=[study.name])).json()
    assert api["ceiling"][0]["leave_one_out"] == 0.5
    assert api["aggregates"][0]["majority"] == 1
    folder = tmp_path / "export"
    call_command("export_study", study.name, str(folder), verbosity=0)
    export = Export(folder)
    assert export["ceilings.csv"][0]["leave_one_out"] == "0.5"


@pytest.mark.long
def test_page_csv_and_api_name_the_best_and_worst_annotator(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(test_size=6), annotators=2)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
        factories.work_through(factories.seat(scenario), lambda turn: [])
    right, empty = study.participations.filter(scenario__shots=0).order_by("pk")
    reply = ada.get(reverse("analysis_file", args=[study.name, "ceiling"]))
    row = next(csv.DictReader(io.StringIO(reply.content.decode(), newline="")))
    assert (row["best_annotator"], row["worst_annotator"]) == (right.pseudonym, empty.pseudonym)
    assert float(row["best"]) == 1
    # "No answer" is right on two of the six examples.
    assert float(row["worst"]) == pytest.approx(1 / 3)
    assert (row["leave_one_out"], row["compared"]) == ("", "0")
    assert row["no_leave_one_out"] == "fewer than five annotators"
    (api,) = ada.get(reverse("api_analysis", args=[study.name])).json()
    assert api["ceiling"][0]["worst"] == float(row["worst"])
    assert api["ceiling"][0]["leave_one_out"] is None
    page = " ".join(ada.get(reverse("analysis", args=[study.name])).content.decode().split())
    assert "Human ceiling" in page
    assert "– (fewer than five annotators)" in page
    assert "is not a bound for models" in page
    grid = reports.block(study, "Human ceiling and doubtful gold answers", Grid, "Human ceiling")
    assert grid.rows[0] == [
        "toy-places", "0", "2", "– (fewer than five annotators)", "0 of 12", "100.0", "33.3",
    ]  # fmt: skip
    assert "neither a score against the gold nor a bound for models" in " ".join(grid.notes)


@pytest.mark.long
@pytest.mark.parametrize(
    ("answers", "doubtful", "unanimous"),
    [
        ([["Lima"], ["Lima"]], 1, 1),
        ([["Lima"], ["Cairo"]], 0, 0),  # both are wrong, but they disagree
        ([["Oslo"], ["Oslo"]], 0, 1),
        ([["Lima"]], 0, 0),  # a single answer shows no agreement
    ],
)
def test_a_gold_is_doubtful_if_all_agree_against_it(researcher, answers, doubtful, unanimous):
    study, example = one_example(researcher, TEXT, ["Oslo"])
    say(study, 0, answers[0])
    say(study, 2, *answers[1:])
    tallies, rows = difficulty.doubts(study, Kind.PERSON)
    assert [(row.example, row.n) for row in rows] == [(example.pk, 2)] * doubtful
    counts = [(tally.doubtful, tally.unanimous) for tally in tallies]
    assert counts == ([(doubtful, unanimous)] if len(answers) > 1 else [])


@pytest.mark.long
def test_the_audit_is_a_page_and_a_file(ada, researcher):
    study, example = one_example(researcher, TEXT, ["Oslo"])
    page = reverse("examples", args=[study.name], query={"show": "gold_audit"})
    assert "No annotator in the analysis has completed" in ada.get(page).content.decode()
    say(study, 0, ["Lima", "Oslo"], ["Oslo", "Lima"])
    shown = ada.get(page).content.decode()
    assert reverse("example", args=[study.name, example.pk]) in shown
    assert "Lima, Oslo" in shown
    reply = ada.get(reverse("gold_audit_file", args=[study.name]))
    (row,) = csv.DictReader(io.StringIO(reply.content.decode(), newline=""))
    assert (row["kind"], row["example"], row["n"]) == ("person", example.source_id, "2")
    assert (row["answer"], row["gold"]) == ('["Lima","Oslo"]', '["Oslo"]')
    assert float(row["s1"]) == pytest.approx(2 / 3)
    caption = "Unanimous answers that differ from the gold"
    grid = reports.block(study, "Human ceiling and doubtful gold answers", Grid, caption)
    assert grid.rows == [["toy-places", "1", "1", "1"]]


@pytest.mark.long
@pytest.mark.real_data
def test_golds_that_cannot_be_highlighted_are_found_in_wikiann(researcher, clues):
    """Annotators who highlight every gold that the text contains still contradict nine golds."""
    card, files = read_clues(clues, "WikiANN")
    tested = next(file.records for file in files if file.kind == "test")
    out_of_reach = [r for r in tested if any(text not in r.context[0] for text in r.gold)]
    others = [record for record in tested if record not in out_of_reach][:20]
    assert len(out_of_reach) == 9
    task = factories.make_task(test=[*out_of_reach, *others], **card.as_dict())
    study = factories.make_study(researcher, task, shots=[0], annotators=5)

    def all_that_is_there(turn):
        there = turn.example.context[0]
        return list(dict.fromkeys(text for text in turn.example.gold if text in there))

    for _ in range(5):
        factories.work_through(factories.seat(study.scenarios.get()), all_that_is_there)
    _tallies, rows = difficulty.doubts(study, Kind.PERSON)
    assert Counter(row.source_id for row in rows) == Counter(r.id for r in out_of_reach)
    (row,) = ceilings(findings.answered(study, Kind.PERSON))
    assert row.leave_one_out == 100
    assert row.best == row.worst == pytest.approx(
        100 * sum(s1(frozenset(t for t in r.gold if t in r.context[0]), frozenset(r.gold))
                  for r in [*out_of_reach, *others]) / 29
    )  # fmt: skip

"""The figures of a run of `make bench` beside those of the last release."""

import json

from benchmarks import pages, release


def test_what_was_noted_several_times_counts_by_its_median(tmp_path, monkeypatch):
    path = tmp_path / "figures.jsonl"
    monkeypatch.setenv("HANDFUL_FIGURES", str(path))
    for value in (3.0, 1.0, 2.0):
        release.note("page: study", value)
    release.note("answers.csv", 0.12345)
    assert release.noted(str(path)) == {"page: study": 2.0, "answers.csv": 0.123}


def test_what_got_slower_by_more_than_the_noise_is_named():
    last = {"steady": 1.0, "slow": 1.0, "gone": 1.0}
    said = release.compare(last, {"steady": release.NOISE, "slow": 2.0, "new": 1.0})
    assert "| slow | 1.00 | 2.00 | 2.00 |" in said
    assert "| gone | 1.00 | not measured | |" in said
    assert "| new | not measured | 1.00 | |" in said
    assert said.endswith("by more than 1.3 times: slow.")
    assert release.compare(last, last).endswith("Nothing is slower by more than 1.3 times.")


def test_the_figures_of_the_last_release_are_of_what_is_measured():
    stored = json.loads(release.STORED.read_text("utf-8"))
    assert {"release", "date", "machine", "figures"} == set(stored)
    of_pages = {name for name in stored["figures"] if name.startswith("page: ")}
    assert of_pages <= {f"page: {page}" for page in pages.PAGES}
    assert all(value > 0 for value in stored["figures"].values())

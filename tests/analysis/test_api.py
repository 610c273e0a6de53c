"""The API returns what the pages show; other researchers' studies are not found."""

import csv
import io
import re
from urllib.parse import quote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from analysis.cross_task.upstream import ARM_TABLES as TABLES
from analysis.export import release
from analysis.figures import data as figure_data
from analysis.scores import findings, findings_columns
from analysis.scores.columns import type_of
from annotation.models import Kind
from tasks.models import Job
from tests import factories


@pytest.fixture
def study(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0, 2], annotators=2)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    return study


@pytest.fixture
def by_token(researcher):
    return factories.bearer(researcher)


def test_a_program_reads_the_table_with_a_token(client, study, by_token):
    address = reverse("api_human_performance", args=[study.name])
    rows = client.get(address, headers=by_token).json()
    assert [(row["kind"], row["shots"], row["mean"], row["n"]) for row in rows] == [
        ("person", 0, 1.0, 1),
        ("person", 2, 1.0, 1),
    ]
    assert rows[0]["sd_ddof1"] is None


@pytest.mark.long
def test_a_list_of_studies_has_only_my_studies(client, study, by_token, other_researcher):
    factories.make_study(other_researcher, factories.make_task())
    listed = client.get(reverse("api_studies"), headers=by_token).json()
    assert [entry["name"] for entry in listed["results"]] == [study.name]
    entry = client.get(reverse("api_study", args=[study.name]), headers=by_token).json()
    assert listed["results"][0].items() <= entry.items()
    assert entry["manifest_hash"] == study.manifest_hash


@pytest.mark.long
def test_resampled_tables_are_pending_until_the_job_is_done(client, study, by_token, researcher):
    address = reverse("api_analysis", args=[study.name])
    (reply,) = client.get(address, headers=by_token).json()
    assert (reply["intervals"], reply["contrasts"]) == (None, None)
    assert reply["pending"]["state"] == "not begun"
    assert [row["shots"] for row in reply["agreement"]] == [0, 2]
    assert not Job.objects.exists()
    job = findings.job_of(study, Kind.PERSON, owner=researcher)
    (reply,) = client.get(address, headers=by_token).json()
    assert (reply["pending"]["state"], reply["pending"]["done"]) == ("waiting", 0)
    assert reply["pending"]["total"] == job.total == 3
    call_command("run_jobs", verbosity=0)
    (reply,) = client.get(address, headers=by_token).json()
    assert reply["pending"] is None
    tables = {"intervals", "agreement", "aggregates", "ceiling", "contrasts"}
    tables |= {
        "anchors",
        "question_alone",
        "attrition",
        "admission",
        "confidence",
        "calibration",
        "plateau",
    }
    assert set(reply) == {"kind", "marks", "pending", *tables}
    assert reply["intervals"][0]["t_low_95"] is None
    assert len(reply["contrasts"]) == 1


def test_a_study_without_answers_has_no_pending_job(client, researcher, by_token):
    empty = factories.make_study(researcher, factories.make_task())
    (reply,) = client.get(reverse("api_analysis", args=[empty.name]), headers=by_token).json()
    assert reply == {
        "kind": "person", "marks": [], "pending": None, "intervals": [], "agreement": [],
        "aggregates": [], "ceiling": [], "contrasts": [], "attrition": [], "admission": [],
        "anchors": [], "question_alone": [], "confidence": [], "calibration": [], "plateau": [],
    }  # fmt: skip


# The same digits as the CSVs ---------------------------------------------------------------------


def as_json(rows) -> list[dict]:
    """Return the rows of a CSV as in JSON, with texts that look like numbers as numbers."""

    def value(text: str):
        for read in (int, float):
            try:
                return read(text)
            except ValueError:
                pass
        return text or None

    return [
        {key: text or None if key == "split_numbers" else value(text) for key, text in row.items()}
        for row in rows
    ]


def rows_of_csv(client, address: str, **query) -> list[dict]:
    return as_json(csv.DictReader(io.StringIO(client.get(address, query).content.decode())))


def empty_is_null(rows: list[dict]) -> list[dict]:
    return [{key: None if value == "" else value for key, value in row.items()} for row in rows]


@pytest.fixture
def full(client, researcher):
    """People, simulated annotators and a model, with mistakes; a finished job; owner signed in."""
    study = factories.make_study(
        researcher, factories.make_task(shots=[2, 4], test_size=7), shots=[0, 2, 4], annotators=3
    )
    for number, scenario in enumerate(study.scenarios.all()):
        for kind, extra in (("person", 0), ("person", 1), ("person", 2), ("simulated", 0)):
            wrong = number + extra
            factories.work_through(
                factories.seat(scenario, kind=kind),
                lambda turn, wrong=wrong: (
                    ["home"] if turn.pk % 5 < wrong else list(dict.fromkeys(turn.example.gold))
                ),
            )
    task = study.tasks.get()
    for shots, number in ((0, None), (2, 1), (4, 1)):
        factories.predict(
            researcher, "a-model", task, shots, number,
            predict=lambda example: example.gold if example.pk % 3 else ["home"],
        )  # fmt: skip
    for kind in ("person", "simulated"):
        findings.job_of(study, kind, owner=researcher)
    call_command("run_jobs", verbosity=0)
    client.force_login(researcher)
    return study


@pytest.mark.long
def test_the_tables_have_the_digits_of_their_csvs(client, full):
    def read(name: str, *args):
        return client.get(reverse(name, args=[full.name, *args])).json()

    def file(name: str, *args, **query):
        return rows_of_csv(client, reverse(name, args=[full.name, *args]), **query)

    performance = file("human_performance_file", "csv")
    assert len(performance) == 6
    assert read("api_human_performance") == performance
    training = file("training_table_file")
    assert {row["kind"] for row in training} == {"person", "simulated"}
    assert read("api_training") == training
    for entry in read("api_analysis"):
        for table in ("intervals", "agreement", "aggregates", "ceiling", "contrasts"):
            expected = file("analysis_file", table, kind=entry["kind"])
            assert expected, table
            rows = [{"kind": entry["kind"]} | row for row in entry[table]]
            assert empty_is_null(rows) == expected, table
    for figure in ("shots", "learning", "drift"):
        for entry in read("api_figure", figure):
            for part, address in (
                ("numbers", ("figure_numbers", figure)), ("data", ("figure_file", figure, "csv"))
            ):  # fmt: skip
                expected = file(*address, kind=entry["kind"])
                assert expected, figure
                rows = [{"kind": entry["kind"]} | row for row in entry[part]]
                assert empty_is_null(rows) == expected, figure
    # Both addresses have the same intervals, limited to the range of S1.
    for entry, figure in zip(read("api_analysis"), read("api_figure", "shots"), strict=True):
        ends = [(row["low_95"], row["high_95"]) for row in entry["intervals"]]
        assert ends == [(row["low_95"], row["high_95"]) for row in figure["numbers"]]
        assert all(0 <= end <= 1 for pair in ends for end in pair if end is not None)
    for entry in read("api_study_models"):
        for table in ("scores", "aggregates", "differences"):
            expected = file("study_models_file", table, kind=entry["kind"])
            assert expected, table
            assert empty_is_null(entry[table]) == expected, table
    models = client.get(reverse("api_models")).json()
    assert models == rows_of_csv(client, reverse("models_file"))
    assert [(row["model"], row["shots"]) for row in models] == [
        ("a-model", 0), ("a-model", 2), ("a-model", 4)
    ]  # fmt: skip


def test_a_misleading_figure_is_replaced_by_a_reason(client, researcher, by_token):
    study = factories.make_study(
        researcher, factories.make_task(), shots=[0], annotation_order="file_order"
    )
    factories.work_through(factories.seat(study.scenarios.get()))
    (figure,) = client.get(
        reverse("api_figure", args=[study.name, "drift"]), headers=by_token
    ).json()
    assert "in file order" in figure["why_not"]
    assert (figure["numbers"], figure["data"]) == ([], [])


def test_an_unknown_figure_is_not_found(client, study, by_token):
    reply = client.get(reverse("api_figure", args=[study.name, "nonsense"]), headers=by_token)
    assert reply.status_code == 404


# Permissions and documentation -------------------------------------------------------------------

NAMES = [
    ("api_study",), ("api_human_performance",), ("api_analysis",), ("api_training",),
    ("api_figure", "learning"), ("api_study_models",), ("api_leaderboard",),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_anonymous_gets_401_and_another_researcher_404(client, study, other_researcher, name):
    address = reverse(name[0], args=[study.name, *name[1:]])
    assert client.get(address).status_code == 401
    client.force_login(other_researcher)
    assert client.get(address).status_code == 404
    client.force_login(study.owner)
    assert client.get(address).status_code == 200
    assert client.post(address).status_code in (403, 405, 415)


PLACES = ("api_studies", "api_docs", "schema")


@pytest.mark.parametrize("name", PLACES)
def test_response_401_explains_how_to_sign_in_or_get_a_token(client, db, name):
    address = reverse(name)
    reply = client.get(address, headers={"Accept": "text/html,application/xml;q=0.9,*/*;q=0.8"})
    assert reply.status_code == 401
    page = reply.content.decode()
    assert f'href="{reverse("login")}?next={quote(address, safe="")}"' in page
    assert f'href="{reverse("tokens")}"' in page
    if name not in ("api_docs", "schema"):
        told = client.get(address)
        assert (told.status_code, told["WWW-Authenticate"]) == (401, "Bearer")
        assert "/tokens/" in told.json()["detail"]


@pytest.mark.long
def test_the_schema_is_valid_and_names_every_address(client, researcher, tmp_path):
    file = tmp_path / "schema.yml"
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(file))
    text = file.read_text()
    assert "/api/v1/studies/{name}/human-performance/" in text
    assert "/api/v1/studies/{name}/analysis/" in text
    assert "/api/v1/studies/{name}/figures/{figure}/" in text
    assert "scale 0 to 1" in text
    assert client.get(reverse("schema")).status_code == 401
    client.force_login(researcher)
    assert client.get(reverse("api_docs")).status_code == 200


@pytest.mark.engines
def test_a_task_name_with_u0000_is_unknown(researcher):
    """PostgreSQL refuses U+0000 in a query, but multipart fields can contain it."""
    program = Client(headers=factories.bearer(researcher, "read", "run"))
    file = SimpleUploadedFile("toy_0.jsonl", b"{}")
    sent = {"name": "toy", "task": "a\0b", "shots": "0", "files": file}
    reply = program.post(reverse("api_models"), sent)
    assert reply.status_code == 422
    assert "does not exist" in reply.content.decode()
    design = {"name": "s", "title": "S", "tasks": ["a\0b"], "shots": [0]}
    reply = program.post(reverse("api_studies"), design, content_type="application/json")
    assert 400 <= reply.status_code < 500


# One form in all files ---------------------------------------------------------------------------

FILES = (
    ("human_performance_file", "csv"), ("training_table_file",), ("sensitivity_file",),
    ("examples_file",), ("gold_audit_file",), ("leaderboard_file",), ("sample_file", "csv"),
    *(("cross_task_file", name) for name in TABLES),
    *(("analysis_file", name) for name in (*findings_columns.COLUMNS, "anchors", "admission")),
    *(
        ("study_models_file", name)
        for name in ("scores", "aggregates", "effort", "metrics", "differences", "examples")
    ),
    *(("figure_numbers", name) for name in figure_data.NAMES),
    *(("figure_file", name, "csv") for name in figure_data.NAMES),
)  # fmt: skip
RENAMED = {"low", "high", "floor", "who", "why_not", "holm_p", "source_id", "id", "t_low", "t_high"}
OTHER_UNITS = (
    "seconds|minutes|hour|median|standing|cost|earned|due|hedges_g|df$"
    "|^(part|block|number|first|last|middle|examples|files|tasks)$|^per_|per_10$"
)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
LISTS = ("people", "audit_log")
OF_PROGRAMS = ("api_answers", "api_spans", "api_events")


def all_csvs(client, study, folder):
    """Yield name, header and rows of each CSV of the study, and of each list in the API."""
    release.write_data(study, folder)
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.csv")}
    addresses = [reverse(name, args=[study.name, *more]) for name, *more in FILES]
    addresses += [reverse(name, args=[study.name]) + "?format=csv" for name in LISTS]
    task = study.tasks.get()
    addresses += [
        reverse("models_file"),
        *(reverse(name) + "?format=csv" for name in ("studies", "tasks", "models")),
        reverse("task", args=[task.name, task.version]) + "?show=examples&format=csv",
    ]
    programs = [reverse(name, args=[study.name]) for name in OF_PROGRAMS]
    for address in (*programs, reverse("api_predictions", args=["a-model"])):
        rows = client.get(f"{address}?page_size=1000").json()["results"]
        yield address, list(rows[0]), [{k: str(v) for k, v in row.items()} for row in rows]
    for address in addresses:
        reply = client.get(address)
        assert reply.status_code == 200, address
        texts[address] = reply.getvalue().decode()
    for name, text in texts.items():
        reader = csv.DictReader(io.StringIO(text))
        yield name, list(reader.fieldnames), list(reader)


def is_on_scale(column, cell):
    """Check that scores, shares, their SDs, intervals and differences aren't multiplied by 100."""
    is_plateau = column in ("plateau", "plateau_low", "plateau_high")  # a number of examples
    if type_of(column) == "integer" or is_plateau or re.search(OTHER_UNITS, column):
        return True
    # Intervals of differences, and slopes over more examples than there are, can exceed 1.
    most = 2 if re.search("low|high|^per_", column) else 1
    return not re.fullmatch(r"-?\d+(\.\d+)?", cell) or abs(float(cell)) <= most


def is_a_time_in_another_form(cell):
    return re.match(r"\d{4}-\d\d-\d\d.\d\d:\d\d", cell) and not TIME.fullmatch(cell)


@pytest.mark.long
def test_all_csvs_share_names_scales_and_the_form_of_times(client, full, tmp_path):
    wrong, named = set(), set()
    for name, header, rows in all_csvs(client, full, tmp_path):
        for column in header:
            named.add(column)
            is_plain = re.fullmatch(r"[a-z][a-z0-9_]*", column)
            if not is_plain or column.endswith("_x100") or column in RENAMED:
                wrong.add((name, column))
        if name in ("examples.csv", "spans.csv") and "study" not in header:
            wrong.add((name, "study"))
        for column, cell in [cell for row in rows for cell in row.items()]:
            if not is_on_scale(column, cell) or is_a_time_in_another_form(cell):
                wrong.add((name, column, cell))
    assert not wrong, sorted(wrong)
    assert {"example", "low_95", "high_95", "p_holm", "smallest_p", "no_interval"} <= named

"""Programs add tasks and models through the API; an upload with errors stores nothing."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse

from analysis.scores import findings
from tasks.models import Job, LanguageModel, Task, TaskUpload
from tests import factories
from tests.annotation.study.test_api_studies import Program, run
from tests.conftest import CLUES

DEMO = Path("tasks/demo/sentiment")
TEXTS = "text,label\n" + "\n".join(
    f"sentence number {number} is {word},{label}"
    for number in range(60)
    for word, label in [("fine", "good") if number % 2 else ("poor", "bad")]
)
MAPPING = {
    "name": "reviews", "kind": "choice", "text": ["text"], "gold": "label", "shots": [4],
    "splits": 1, "test": 20, "seed": 7,
}  # fmt: skip


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR_DIR = tmp_path


@pytest.fixture
def program(researcher):
    return Program(researcher)


def files_of(folder: Path) -> list[SimpleUploadedFile]:
    return [SimpleUploadedFile(p.name, p.read_bytes()) for p in sorted(folder.iterdir())]


def zipped(folder: Path) -> SimpleUploadedFile:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    return SimpleUploadedFile("task.zip", file.getvalue())


@pytest.mark.long
@pytest.mark.parametrize("way", ["files", "archive"])
def test_a_task_imported_by_the_api_equals_that_of_the_command(program, way):
    sent = files_of(DEMO) if way == "files" else zipped(DEMO)
    made = program.send("/tasks/", **{way: sent})
    assert made.status_code == 201, made.json()
    assert not TaskUpload.objects.exists()
    task = Task.objects.get()
    by_program = task.content_hash
    shown = program.get(f"/tasks/{task.name}/1/").json()
    assert (shown["name"], shown["content_hash"]) == (task.name, by_program)
    assert shown["splits"]
    assert program.get(f"/tasks/{task.name}/1/card/").json()["name"] == task.name
    told = program.get(f"/tasks/{task.name}/1/report/").json()
    assert told["lines"]
    scores = told["report"]["baseline"], told["report"]["ceiling"]
    shares = [split["empty_share"] for split in told["report"]["splits"]]
    assert all(0 <= value <= 1 for value in [*scores, *shares])
    again = program.send("/tasks/", files=files_of(DEMO))
    assert (again.status_code, again.json()["created"]) == (200, False)
    task.delete()
    call_command("import_task", DEMO, verbosity=0)
    assert Task.objects.get().content_hash == by_program


@pytest.mark.long
def test_faults_of_files_are_named_and_nothing_is_stored(program):
    files = files_of(DEMO)
    broken = next(file for file in files if file.name.endswith("_test.jsonl"))
    files[files.index(broken)] = SimpleUploadedFile(broken.name, b'{"id": 1}\n')
    refused = program.send("/tasks/", files=files)
    assert refused.status_code == 422
    assert broken.name in refused.json()["detail"]
    for fields in ({}, {"files": []}, {"card": SimpleUploadedFile("x", b"title = 1")}):
        assert program.send("/tasks/", **fields).status_code == 422
    assert program.send("/tasks/", files=files, nmae="x").json()["fields"].keys() == {"nmae"}
    assert not Task.objects.exists()
    assert not TaskUpload.objects.exists()


@pytest.mark.long
def test_a_foreign_task_cannot_get_a_new_version(program, other_researcher):
    assert program.send("/tasks/", files=files_of(DEMO)).status_code == 201
    files = files_of(DEMO)
    card = next(file for file in files if file.name == "task.toml")
    text = card.read().replace(b'title = "', b'title = "Other ')
    files[files.index(card)] = SimpleUploadedFile("task.toml", text)
    refused = Program(other_researcher).send("/tasks/", files=files)
    assert refused.status_code == 422
    assert "belongs to other researchers" in refused.json()["detail"]
    assert Task.objects.count() == 1


@pytest.mark.long
@pytest.mark.parametrize("gold", [MAPPING["gold"], [MAPPING["gold"]]])
def test_a_dataset_is_imported_as_a_task(program, gold):
    file = SimpleUploadedFile("reviews.csv", TEXTS.encode())
    content = b"\xef\xbb\xbf" + json.dumps(MAPPING | {"gold": gold}).encode()
    mapping = SimpleUploadedFile("mapping.json", content)
    made = program.send("/tasks/datasets/", file=file, mapping=mapping)
    assert made.status_code == 201, made.json()
    task = Task.objects.get(name="reviews")
    assert task.training_sizes == [4]
    assert task.test_split.examples.count() == 20
    assert task.report["made_from"]["seed"] == 7


@pytest.mark.parametrize(("names", "status"), [(("reviews.csv",), 201), (("a.csv", "b.csv"), 422)])
def test_a_zip_of_one_dataset_is_imported_like_the_dataset(program, names, status):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("data/README.md", "data/.DS_Store", *(f"data/{name}" for name in names)):
            archive.writestr(name, TEXTS)
    file = SimpleUploadedFile("reviews.zip", packed.getvalue())
    made = program.send("/tasks/datasets/", file=file, mapping=json.dumps(MAPPING))
    assert made.status_code == status, made.json()
    if status == 201:
        assert Task.objects.get().report["made_from"]["file"] == "reviews.csv"
    else:
        message = "reviews.zip: found a.csv, b.csv; expected one dataset."
        assert made.json()["fields"] == {"file": [message]}


def test_a_dataset_with_options_becomes_a_task_of_that_kind(program):
    rows = [{"stem": f"Item {n}?", "o": ["a", f"b{n}"], "key": "AB"[n % 2]} for n in range(60)]
    lines = "\n".join(map(json.dumps, rows))
    mapping = {
        "name": "exam", "kind": "option", "text": ["stem"], "options": ["o"], "gold": "key",
        "gold_is": "letter", "shots": [4], "splits": 1, "test": 20, "seed": 7, "metric": "ACC",
    }  # fmt: skip
    file = SimpleUploadedFile("exam.jsonl", lines.encode())
    made = program.send("/tasks/datasets/", file=file, mapping=json.dumps(mapping))
    assert made.status_code == 201, made.json()
    task = Task.objects.get(name="exam")
    assert (task.card.answered_by, task.card.metric) == ("option", "ACC")
    assert {example.gold[0][0] for example in task.test_split.examples.all()} == {"a", "b"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"gold": "nothing"}, "gold"),
        ({"gold": ["label", "text"]}, "gold"),
        ({"tset": 3}, "tset"),
        ({"test": 1000}, "mapping"),
        ({"gold_rule": "x"}, "mapping"),
        ({"segments": 5}, "mapping"),
        ({"max_spans": "3"}, "mapping"),
        ({"family": {"a": None}}, "mapping"),
        ({"granularity": ["char"]}, "mapping"),
        ({"metric": None}, "mapping"),
        ({"longest": True}, "mapping"),
        ({"language": "!!"}, "mapping"),
        ({"shots": {}}, "shots"),
    ],
)
def test_an_invalid_mapping_is_422(program, change, field):
    file = SimpleUploadedFile("reviews.csv", TEXTS.encode())
    refused = program.send("/tasks/datasets/", file=file, mapping=json.dumps(MAPPING | change))
    assert refused.status_code == 422
    assert field in refused.json()["fields"]
    assert not Task.objects.exists()
    assert not TaskUpload.objects.exists()


@pytest.mark.long
@pytest.mark.real_data
def test_squad_is_imported_from_the_real_files(program):
    made = program.send("/tasks/", files=files_of(CLUES / "SQuAD-v2"), shipped_card="SQuADv2")
    done = made.json()
    if made.status_code == 202:
        done = run(program, done["job"])["result"]
    assert done["name"] == "SQuADv2"


def test_a_job_is_readable_only_by_its_owner(program, researcher, other_researcher):
    job = Job.objects.create(kind="check_upload", key="k", parameters={}, owner=researcher, total=2)
    assert program.get(f"/jobs/{job.pk}/").json()["state"] == "waiting"
    assert Program(other_researcher).get(f"/jobs/{job.pk}/").status_code == 404
    study = factories.make_study(researcher, factories.make_task(), shots=[2])
    assert Program(researcher, study=study).get(f"/jobs/{job.pk}/").status_code == 404
    assert program.get("/jobs/999999999999999999999/").status_code == 404


# Models -------------------------------------------------------------------------------------------


def test_predictions_can_be_uploaded_and_downloaded(program, researcher):
    task = factories.make_task()
    lines = [
        {"id": example.source_id, "predicted": example.gold}
        for example in task.test_split.examples.all()
    ]
    text = "\n".join(map(json.dumps, lines))
    place = {"name": "toy", "task": "toy-places", "shots": "2", "split_number": "1"}

    def upload(**fields):
        file = SimpleUploadedFile("any.jsonl", text.encode())
        return program.send("/models/", files=file, **fields)

    made = upload(**place)
    assert made.status_code == 201, made.json()
    (file,) = made.json()["files"]
    assert file["mean_s1"] == 1
    assert upload(**place).status_code == 422  # it was already uploaded
    assert upload(**place, sohts="1").status_code == 422
    assert upload(**(place | {"task": "nowhere"})).status_code == 422
    got = program.get("/models/toy/predictions/?task=toy-places").json()["results"]
    assert [(row["example"], row["predicted"]) for row in got] == [
        (line["id"], line["predicted"]) for line in lines
    ]
    unknown = program.get("/models/toy/predictions/?task=nowhere")
    assert (unknown.status_code, list(unknown.json()["fields"])) == (400, ["task"])
    delete = program.client.delete
    kept = delete("/api/v1/models/toy/", headers=program.headers)
    assert kept.status_code == 409
    address = f"/api/v1/models/toy/files/{file['id']}/"
    assert delete(address, headers=program.headers).status_code == 204
    assert delete("/api/v1/models/toy/", headers=program.headers).status_code == 204
    assert not LanguageModel.objects.exists()


# Results ------------------------------------------------------------------------------------------


@pytest.mark.long
def test_every_table_of_a_page_has_an_api_address(program, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0, 2], name="pilot")
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    for name in (
        "sensitivity/", "examples/", "gold-audit/", "cross-task/gains/", "cross-task/plan/",
        "leaderboard/", "report/", "preregistration.md", "report.md", "export.zip",
    ):  # fmt: skip
        assert program.get(f"/studies/pilot/{name}").status_code == 200, name
    assert program.get("/planner/").json()["rows"]
    assert program.get("/planner/?examples=x").status_code == 400
    assert program.get("/studies/pilot/sensitivity/?kind=robot").status_code == 400
    assert program.get("/studies/pilot/cross-task/nothing/").status_code == 404


@pytest.mark.long
def test_the_analysis_job_is_started_and_run_by_the_api(program, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], name="pilot")
    assert program.post("/studies/pilot/analysis/").status_code == 409
    factories.work_through(factories.seat(study.scenarios.get()))
    begun = program.post("/studies/pilot/analysis/", {"kind": "person"})
    assert begun.status_code == 202
    assert run(program, begun.json())["state"] == "done"
    assert findings.job_of(study, "person").is_done
    (entry,) = program.get("/studies/pilot/analysis/").json()
    assert entry["pending"] is None


@pytest.mark.long
def test_the_release_bundle_is_prepared_by_the_api(program, researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[2], name="pilot")
    factories.work_through(factories.seat(study.scenarios.get()))
    assert program.get("/studies/pilot/release.zip").status_code == 404
    begun = program.post("/studies/pilot/release/")
    assert begun.status_code == 202
    done = run(program, begun.json())
    assert done["result"]["archive"] == reverse("api_release_zip", args=["pilot"])
    archive = b"".join(program.get("/studies/pilot/release.zip").streaming_content)
    assert zipfile.ZipFile(io.BytesIO(archive)).testzip() is None
    assert program.post("/studies/pilot/release/").status_code == 200

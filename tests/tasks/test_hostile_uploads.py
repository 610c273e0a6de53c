"""Files made to keep the server busy are read in linear time or refused with their place."""

import io
import json
import subprocess
import sys
import threading
import time
import zipfile

import openpyxl
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tasks import checking, jobs, uploads
from tasks.datasets import binary
from tasks.datasets.table import DatasetError
from tasks.models import Job, PredictionFile, Split, Task, TaskUpload
from tasks.spans import Source, ceiling
from tests import factories
from tests.tasks.browser_import import GOOD, act, act_files, send, settle, text, zipped
from tests.tasks.test_importing import card_text, line

KEYS = "{" + ", ".join(f'"k{n}": 1' for n in range(60_000)) + ', "k0": 1}\n'  # 0.9 MB
# Golds that occur half a million times, but never as whole words.
SLOW = line(context="a" * 450_000, answer=["a" * n for n in range(1, 201)])


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"


@pytest.fixture
def one_second(monkeypatch):
    """Lower the limit of a check, so that a test needn't wait for it."""
    monkeypatch.setattr(checking, "SECONDS", 1)


def problem(page) -> str:
    (sentence,) = page.context["problems"]
    return sentence


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("toy_test.jsonl", KEYS, "toy_test.jsonl, line 1, field k0: the field appears twice"),
        (
            "toy_test.jsonl",
            line() + line(id="2", answer=[f"Oslo {n}" for n in range(2_000)]),
            "toy_test.jsonl, line 2, field answer: expected at most 200 answers, found 2,000",
        ),
        ("task.toml", "x = " + "[" * 5_000, "task.toml: nested too deeply"),
        ("task.toml", "x = " + "{y = " * 5_000, "task.toml: nested too deeply"),
        ("task.toml", card_text(instructions="x" * 200_000), "task.toml: larger than 100 kB"),
    ],
)
def test_a_file_made_to_slow_the_server_is_refused(ada, name, content, sentence):
    page = settle(ada, send(ada, GOOD | {name: content}))
    assert sentence in problem(page)
    upload = page.context["upload"]
    assert ada.get(reverse("task_upload", args=[upload.pk])).status_code == 200
    page = settle(ada, act_files(ada, page, {name: GOOD[name]}))
    act(ada, page, "confirm")
    assert Task.objects.exists()


def test_equal_golds_are_searched_once_up_to_their_first_place():
    assert ceiling(["Oslo"] * 50_000, "set", Source(["Oslo " * 10_000])) == 1.0
    assert ceiling(["Oslo"] * 50_000 + ["Rome"], "any_of", Source(["Oslo " * 10_000])) == 1.0


def test_a_zip_of_more_than_3000_names_is_refused_unopened(ada):
    many = zipped({f"toy_train_1_{number}.jsonl": "" for number in range(1, 3002)})
    assert "it contains 3,001 files, and at most 3,000 are" in text(send(ada, {"many.zip": many}))
    assert not TaskUpload.objects.exists()


def test_an_upload_holds_at_most_3000_files(ada, monkeypatch):
    monkeypatch.setattr(uploads, "MAX_FILES", 3)
    page = send(ada, GOOD)
    page = act_files(ada, page, {"toy_train_1_2.jsonl": line()})
    (refusal,) = page.context["not_taken"]
    assert refusal == "toy_train_1_2.jsonl: not accepted; an upload contains at most 3 files."


def test_a_symbolic_link_in_a_zip_is_refused(ada):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        link = zipfile.ZipInfo("toy_test.jsonl")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    assert " is a link to another file" in text(send(ada, {"a.zip": content.getvalue()}))


def test_a_utf_16_file_gets_the_advice_to_save_it_as_utf_8(ada):
    page = settle(ada, send(ada, GOOD | {"toy_test.jsonl": line().encode("utf-16")}))
    assert "save the file as UTF-8" in problem(page)


@pytest.mark.long
def test_a_check_that_takes_too_long_is_stopped(ada, one_second):
    page = settle(ada, send(ada, GOOD | {"toy_test.jsonl": SLOW}))
    assert problem(page) == (
        "The task as a whole: too complex: reading it takes more than 1 s of processor time, or"
        " more than 1 GB of memory"
    )
    act(ada, page, "confirm")
    assert not Task.objects.exists()


@pytest.mark.long
def test_a_check_that_takes_too_much_memory_is_stopped(ada, monkeypatch):
    monkeypatch.setattr(checking, "MEMORY", 60_000_000)
    test = "".join(line(id=str(n), context="We saw Oslo. " + "x" * 500) for n in range(30_000))
    page = settle(ada, send(ada, GOOD | {"toy_test.jsonl": test}))
    assert "too complex: " in problem(page)
    assert "more than 0.06 GB of memory" in problem(page)


def sent_checks(ada, task, content: str):
    file = SimpleUploadedFile("checks.jsonl", content.encode())
    address = reverse("task_checks", args=[task.name, task.version])
    return ada.post(address, {"checks": file})


def test_attention_checks_are_read_under_the_same_limits(ada, researcher, one_second):
    task = factories.make_task(by=researcher)
    assert "field k0: the field appears twice" in text(sent_checks(ada, task, KEYS))
    many = line(answer=["Oslo"] * 201)
    assert "line 1, field answer: expected at most 200 answers" in text(
        sent_checks(ada, task, many)
    )
    assert not Split.objects.filter(kind="check").exists()
    assert sent_checks(ada, task, line()).status_code == 302
    check = Split.objects.get(kind="check").examples.get()
    assert (check.context, check.gold, check.gold_starts) == (["We saw Oslo."], ["Oslo"], None)


def sent_predictions(ada, task, data: bytes):
    file = SimpleUploadedFile(f"{task.name}_2_1.jsonl", data)
    return ada.post(reverse("models"), {"name": "T5", "files": [file]})


@pytest.mark.long
def test_predictions_are_read_under_the_same_limits(ada):
    task = factories.make_task()
    good = factories.prediction_lines(task, lambda example: example.gold)
    first = json.loads(good.splitlines()[0])
    many = json.dumps(first | {"predicted": ["x"] * 1001}).encode() + b"\n"
    reply = sent_predictions(ada, task, many)
    assert "line 1, field predicted: expected at most 1,000 texts, found 1,001" in text(reply)
    assert "field k0: the field appears twice" in text(
        ada.get(follow(ada, sent_predictions(ada, task, KEYS.encode())))
    )
    assert not PredictionFile.objects.exists()
    assert sent_predictions(ada, task, good).status_code == 302
    assert PredictionFile.objects.get().predictions.count() == len(good.splitlines())


def follow(ada, reply) -> str:
    """Continue the job until it is done; return the address of its page."""
    while not (job := Job.objects.get(kind="predictions")).is_done:
        ada.post(reverse("model_upload", args=[job.pk]))
    return reply.url


@pytest.mark.long
def test_too_complex_predictions_are_named_and_others_accepted(ada, monkeypatch):
    task = factories.make_task(splits=2)
    good = factories.prediction_lines(task, lambda example: example.gold)
    monkeypatch.setattr(checking, "MEMORY", 60_000_000)
    large = json.dumps({"id": "1", "predicted": ["x" * 100] * 900}).encode() + b"\n"
    files = [
        SimpleUploadedFile(f"{task.name}_2_1.jsonl", good),
        SimpleUploadedFile(f"{task.name}_2_2.jsonl", large * 200),
    ]
    reply = ada.post(reverse("models"), {"name": "T5", "files": files})
    shown = text(ada.get(follow(ada, reply)))
    assert f"{task.name}_2_2.jsonl: too complex" in shown
    assert f"{task.name}_2_1.jsonl: too complex" not in shown


# One at a time ------------------------------------------------------------------------------------


@pytest.fixture
def busy():
    """Another thread of this server is running a check."""
    assert checking.one_at_a_time.acquire(timeout=1)
    yield
    checking.one_at_a_time.release()


@pytest.mark.long
def test_an_upload_waits_as_a_job_while_another_is_checked(ada, busy):
    page = send(ada, GOOD)
    job = page.context["job"]
    assert (job.state, job.done, job.lease, job.attempts) == ("waiting", 0, "", 0)
    checking.one_at_a_time.release()
    page = settle(ada, page)
    assert "Data report" in text(page)
    assert checking.one_at_a_time.acquire(timeout=1)


def test_checks_of_a_task_get_503_while_an_upload_is_checked(ada, researcher, busy, monkeypatch):
    monkeypatch.setattr(checking, "PATIENCE", 0)
    reply = sent_checks(ada, factories.make_task(by=researcher), line())
    assert reply.status_code == 503
    assert "Another upload is being checked" in text(reply)


def test_small_predictions_wait_while_another_upload_is_checked(ada, busy, monkeypatch):
    monkeypatch.setattr(checking, "PATIENCE", 0)
    task = factories.make_task()
    data = factories.prediction_lines(task, lambda example: example.gold)
    reply = sent_predictions(ada, task, data)
    job = Job.objects.get()
    assert reply.url == f"{reverse('models', query={'upload': job.pk})}#upload"
    jobs.advance(job)
    assert (job.state, job.done) == ("waiting", 0)


@pytest.mark.long
def test_other_threads_continue_while_a_check_runs(one_second, tmp_path):
    path = tmp_path / "toy_test.jsonl"
    path.write_text(SLOW)
    errors = []

    def check():
        folder = str(tmp_path)
        try:
            checking.run("task", folder=folder, card=factories.card_data())
        except checking.TooComplex as error:
            errors.append(error)

    thread = threading.Thread(target=check)
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
        thread.join(0.01)
    assert errors
    assert turns > 1


def test_the_process_of_a_check_loads_no_external_package():
    code = "import sys, tasks.check_process; print([n for n in sys.modules if 'site-' in str("
    code += "getattr(sys.modules[n], '__file__', ''))], 'django' in sys.modules)"
    command = [*checking.COMMAND[: checking.COMMAND.index("-m")], "-c", code]
    done = subprocess.run(command, cwd=checking.ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"
    assert checking.COMMAND[0] == sys.executable


def test_an_account_has_one_check_at_a_time(researcher, other_researcher):
    with checking.one_of(researcher.pk):
        with pytest.raises(checking.Busy, match="of your uploads"), checking.one_of(researcher.pk):
            """Not reached."""
        with checking.one_of(other_researcher.pk):
            """Another account's is checked meanwhile."""
    with checking.one_of(researcher.pk):
        """Free again."""


def test_a_tasks_files_wait_for_the_accounts_other_check(ada, researcher):
    files = [SimpleUploadedFile("toy_test.jsonl", b"{}\n"), SimpleUploadedFile("task.toml", b"")]
    with checking.one_of(researcher.pk):
        ada.post(reverse("task_add"), {"upload": files})
        job = TaskUpload.objects.get().job
        jobs.run_chunk(job)
        job.refresh_from_db()
        assert (job.state, job.result) == ("waiting", [])
    jobs.run_chunk(job)
    job.refresh_from_db()
    assert len(job.result) == 1


def test_an_account_reads_one_dataset_at_a_time(ada, researcher):
    file = SimpleUploadedFile("x.csv", b"text,label\na,b\n")
    with checking.one_of(researcher.pk):
        page = ada.post(reverse("task_add"), {"upload": file})
        assert "Another of your uploads is being checked" in page.content.decode()
    assert not TaskUpload.objects.exists()


@pytest.mark.parametrize("last", ["XFD1048576", "XFD2"])
def test_a_sheet_with_a_cell_in_its_last_corner_is_refused_fast(tmp_path, last):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet["A1"], sheet["B1"], sheet["A2"], sheet["B2"] = "text", "label", "a", "b"
    sheet[last] = "x"
    book.save(tmp_path / "wide.xlsx")
    began = time.process_time()
    with pytest.raises(DatasetError):
        binary.read_xlsx(tmp_path / "wide.xlsx")
    assert time.process_time() - began < 8  # a check may take 20 s

"""The steps of an import in the browser, and a task that passes them."""

import io
import re
import zipfile
from pathlib import Path

from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tests.tasks.test_importing import card_text, line

GOOD = {
    "task.toml": card_text(),
    "toy_test.jsonl": line(),
    "toy_train_1_1.jsonl": line(id="t", context="We left Lima.", answer=["Lima"]),
}


def files(contents: dict[str, str | bytes]) -> list[SimpleUploadedFile]:
    return [
        SimpleUploadedFile(name, text.encode() if isinstance(text, str) else text)
        for name, text in contents.items()
    ]


def published(clues, folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((clues / folder).iterdir())}


def zipped(contents: dict[str, str | bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
    return content.getvalue()


def send(client, contents, card: str = "", address: str = ""):
    fields = {"card": card, "files" if address else "upload": files(contents)}
    return client.post(address or reverse("task_add"), fields, follow=True)


def settle(client, page):
    """Press "Continue" until the page no longer waits for a job."""
    for _ in range(100):
        if page.context is None or page.context.get("job") is None:
            return page
        upload = page.context["upload"]
        page = client.post(reverse("task_upload_run", args=[upload.pk]), follow=True)
    raise AssertionError("the job does not end")


def act(client, page, name: str, **fields):
    """Press a button on this page, which may have been loaded before a later change."""
    upload = page.context["upload"]
    address = reverse(f"task_upload_{name}", args=[upload.pk])
    return client.post(address, {"revision": upload.revision, **fields}, follow=True)


def text(page) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.content.decode()))


def stored_folders(var: Path) -> list[str]:
    return [path.name for path in (var / "uploads").glob("*")]


def act_files(client, page, contents, card: str = ""):
    address = reverse("task_upload_files", args=[page.context["upload"].pk])
    return send(client, contents, card, address)

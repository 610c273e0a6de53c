"""Files of predictions, as a researcher would upload them."""

import itertools
import json

from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tasks.predictions.format import parse
from tasks.predictions.store import PredictionUpload
from tests import factories

IDS = ["a", "b"]


def line(identity="a", predicted=(), **changes) -> str:
    return json.dumps({"id": identity, "predicted": list(predicted), **changes}) + "\n"


def read(text: str | bytes, ids=IDS) -> dict[str, list[str]]:
    data = text if isinstance(text, bytes) else text.encode()
    return {key: prediction.texts for key, prediction in parse(data, "toy_2_1.jsonl", ids).items()}


def upload(task, *, shots=2, number=1, name="", data=None, predict=None) -> PredictionUpload:
    name = name or f"{task.name}_{shots}_{number}.jsonl"
    data = factories.prediction_lines(task, predict) if data is None else data
    return PredictionUpload(name, data, task, shots, number)


def lines_of(task, *predicted) -> bytes:
    """Return a file that cycles through these predictions for the test examples."""
    wanted = itertools.cycle(predicted)
    return factories.prediction_lines(task, lambda _example: next(wanted))


def send(client, *files: tuple[str, bytes], **fields):
    sent = [SimpleUploadedFile(name, data) for name, data in files]
    return client.post(reverse("models"), {"name": "toy", "files": sent, **fields})

"""A small task with images, made here with the metadata of a camera."""

import io
import json
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from tasks.datasets.making import toml
from tests.factories import LABELS, card_data

SIZE = (160, 120)
CAMERA = Image.Exif()
CAMERA[0x0112], CAMERA[0x010F] = 6, "A camera"  # orientation: turned by 90 degrees


def picture(number: int = 0, kind: str = "PNG", **options: Any) -> bytes:
    image = Image.new("RGB", SIZE, (250, 250, 245))
    draw = ImageDraw.Draw(image)
    draw.ellipse((10 + number, 10, 90, 90), fill=(20 * number % 255, 90, 160))
    draw.rectangle((100, 30, 150, 100), outline=(0, 0, 0))
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def line(number: int, image: Any, **fields: Any) -> str:
    label = LABELS[number % 2]["name"]
    said = {"id": f"e{number}", "context": [image, f"The caption {number}."],
            "question": "positive or negative?", "answer": [label]}  # fmt: skip
    return json.dumps(said | fields) + "\n"


def files(train: int = 2, test: int = 4, **card: Any) -> dict[str, bytes]:
    """Return the files of the task by path, with a PNG, a JPEG or a WebP in each example."""
    kinds = [("png", "PNG"), ("jpg", "JPEG"), ("webp", "WEBP")]
    said = {"name": "captions", "labels": LABELS, "segments": ["Picture", "Caption"],
            "images": True, **card}  # fmt: skip
    made = {"task.toml": toml(card_data(**said)).encode()}
    lines = []
    for number in range(train + test):
        ending, kind = kinds[number % 3]
        made[f"images/{number}.{ending}"] = picture(number, kind, exif=CAMERA)
        # All have the same alternative text, so only their images distinguish the examples.
        lines.append(line(number, {"image": f"{number}.{ending}", "alt": "A disc (and a frame)."}))
    made[f"captions_train_{train}_1.jsonl"] = "".join(lines[:train]).encode()
    made["captions_test.jsonl"] = "".join(lines[train:]).encode()
    return made


def write(folder: Path, made: dict[str, bytes]) -> Path:
    for path, data in made.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder

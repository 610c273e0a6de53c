"""Images as segments: what is stored, what is refused and where, and what annotators get."""

import io
import json
import struct
import subprocess
import sys
import zipfile
import zlib
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone
from PIL import Image as Pillow

from analysis.documents import checklists
from analysis.export import files, pages_seen
from annotation.models import Answer
from tasks import images, importing
from tasks.models import Example, Image, Task
from tests import factories
from tests.annotation.study.test_api_studies import Program
from tests.tasks import pictures
from tests.tasks.browser_import import act, send, settle, zipped

TEST = "captions_test.jsonl"


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"


@pytest.fixture
def folder(tmp_path):
    return pictures.write(tmp_path / "task", pictures.files())


@pytest.fixture
def task(db, folder):
    call_command("import_task", folder, verbosity=0)
    return Task.objects.get()


def image_of(example: Example) -> images.Image:
    return images.image_in(example.context[0])


def test_only_pixels_are_stored_upright(task, client):
    assert Image.objects.count() == task.images.count() == 6
    for example in Example.objects.all():
        shown = image_of(example)
        assert (shown.alt, example.context[1][:11]) == ("A disc (and a frame).", "The caption")
        reply = client.get(reverse("image", args=[shown.name]))
        decoded = Pillow.open(io.BytesIO(reply.content))
        assert reply["Content-Type"] == decoded.get_format_mimetype()
        assert decoded.format in ("PNG", "JPEG")
        assert decoded.size == pictures.SIZE[::-1]
        assert not decoded.getexif()
        assert b"A camera" not in reply.content
        assert shown.name.startswith(images.hashlib.sha256(reply.content).hexdigest())
        assert (reply["X-Content-Type-Options"], "immutable" in reply["Cache-Control"]) == (
            "nosniff", True,
        )  # fmt: skip


def test_an_unknown_image_is_not_found(task, client):
    assert client.get(reverse("image", args=["0" * 64 + ".png"])).status_code == 404
    assert client.get(reverse("image", args=["0.png"])).status_code == 404


def test_changed_pixels_make_a_new_version(task, folder):
    (folder / "images" / "3.png").write_bytes(pictures.picture(9))
    call_command("import_task", folder, verbosity=0)
    assert {one.version for one in Task.objects.all()} == {1, 2}
    assert Image.objects.count() == 7


@pytest.mark.long
def test_exported_files_give_the_same_task(task, tmp_path, ada):
    call_command("export_task", task.name, tmp_path / "out", verbosity=0)
    names = {path.name for path in (tmp_path / "out" / "images").iterdir()}
    assert names == {image_of(example).name for example in Example.objects.all()}
    call_command("import_task", tmp_path / "out", verbosity=0)
    downloaded = ada.get(reverse("task_files", args=[task.name, task.version])).content
    page = settle(ada, send(ada, {"captions.zip": downloaded}))
    assert page.context["stored"] == task
    assert Task.objects.count() == 1


@pytest.mark.long
def test_a_zip_is_checked_previewed_and_imported(ada, task):
    by_command = task.content_hash
    task.delete()
    Image.objects.all().delete()
    page = settle(ada, send(ada, {"captions.zip": zipped(pictures.files())}))
    assert page.context["problems"] == []
    upload = page.context["upload"]
    shown = ada.get(reverse("task_upload_preview", args=[upload.pk, 1])).content.decode()
    assert Image.objects.filter(name=shown.split('src="/images/')[1][:68]).exists()
    act(ada, page, "confirm")
    assert Task.objects.get().content_hash == by_command
    assert Task.objects.get().images.count() == 6


@pytest.mark.long
def test_a_task_with_images_is_imported_by_the_api(researcher):
    made = Program(researcher).send("/tasks/", archive=upload(pictures.files()))
    assert made.status_code == 201, made.json()
    assert Task.objects.get().images.count() == 6
    damaged = pictures.files() | {"images/3.png": pictures.picture()[:300]}
    refused = Program(researcher).send("/tasks/", archive=upload(damaged))
    assert refused.status_code == 422
    assert f"{TEST}, line 2, field context: 3.png: cut off or damaged" in str(refused.json())


def upload(made: dict[str, bytes]):
    file = io.BytesIO(zipped(made))
    file.name = "captions.zip"
    return file


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def of_size(width: int, height: int) -> bytes:
    """Return a PNG that claims this size but holds few bytes."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(bytes(1000)))
    return images.PNG + chunk(b"IHDR", header) + pixels + chunk(b"IEND", b"")


MOVING = {"save_all": True, "append_images": [Pillow.new("RGB", pictures.SIZE)]}
DEEP = io.BytesIO()
Pillow.new("I;16", (9, 9)).save(DEEP, "PNG")
BROKEN_EXIF = pictures.picture(exif=b"Exif\0\0II*\0")
FILES = {
    "broken EXIF": ("3.png", BROKEN_EXIF, "cut off or damaged"),
    "truncated PNG": ("3.png", pictures.picture()[:300], "cut off or damaged"),
    "truncated JPEG": ("4.jpg", pictures.picture(0, "JPEG")[:900], "cut off or damaged"),
    "truncated WebP": ("5.webp", pictures.picture(0, "WEBP")[:300], "cut off or damaged"),
    "animated PNG": ("3.png", pictures.picture(0, **MOVING), "animated; expected a single image"),
    "animated WebP": ("5.webp", pictures.picture(0, "WEBP", **MOVING), "animated"),
    "bomb": ("3.png", of_size(60_000, 60_000), "more than 16 million pixels"),
    "many pixels": ("3.png", of_size(4001, 4000), "more than 16 million pixels"),
    "wrong extension": ("3.png", pictures.picture(0, "JPEG"), "the content is JPEG, not PNG"),
    "GIF": ("3.png", pictures.picture(0, "GIF"), "not a PNG, JPEG or WebP image"),
    "SVG": ("3.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a PNG, JPEG or WebP image"),
    "16 bits": ("3.png", DEEP.getvalue(), "expected 8 bits per channel"),
    "large": ("3.png", pictures.picture() + bytes(5_000_000), "larger than 5 MB"),
    "empty": ("3.png", b"", "not a PNG, JPEG or WebP image"),
}
GIVEN = {
    "missing file": ({"image": "9.png", "alt": "A disc."}, "9.png: the file is not in the folder"),
    "SVG name": ({"image": "a.svg", "alt": "A disc."}, "a.svg: expected the name of a .png"),
    "path": ({"image": "../3.png", "alt": "A disc."}, "../3.png: expected the name of a .png"),
    "null byte": ({"image": "a\0.png", "alt": "A disc."}, "expected the name of a .png"),
    "long name": ({"image": "a" * 300 + ".png", "alt": "A disc."}, "expected the name of a .png"),
    "list": ([[{"image": "3.png", "alt": "A disc."}]], "expected a text, found list"),
    "no alt": ({"image": "3.png"}, 'expected an image as {"image": file name'),
    "blank alt": ({"image": "3.png", "alt": " "}, "3.png: expected an alternative text"),
    "long alt": ({"image": "3.png", "alt": "a" * 1001}, "1 to 1,000 characters"),
    "number": ({"image": 3, "alt": "A disc."}, 'expected an image as {"image": file name'),
    "notation": (f"![A disc.]({'0' * 64}.png)", "written like an imported image"),
}


def refusal(made: dict[str, bytes], tmp_path) -> str:
    with pytest.raises(CommandError) as caught:
        call_command("import_task", pictures.write(tmp_path / "bad", made), verbosity=0)
    assert not Task.objects.exists()
    return str(caught.value)


@pytest.mark.parametrize("case", FILES)
def test_an_unusable_file_is_named_with_its_line(db, tmp_path, case):
    file, data, expected = FILES[case]
    made = pictures.files() | {f"images/{file}": data}
    number = int(file[0]) - 1
    said = refusal(made, tmp_path)
    assert f"{TEST}, line {number}, field context: {file}: " in said
    assert expected in said


@pytest.mark.parametrize("case", GIVEN)
def test_a_wrong_reference_is_named_with_its_line(db, tmp_path, case):
    given, expected = GIVEN[case]
    said = refusal(pictures.files() | {TEST: pictures.line(3, given).encode()}, tmp_path)
    assert f"{TEST}, line 1, field context: " in said
    assert expected in said


def test_images_need_a_card_that_allows_them(db, tmp_path):
    assert "set images = true in the card" in refusal(pictures.files(images=False), tmp_path)


def test_an_upload_names_each_bad_image_and_takes_another(ada):
    bad = pictures.files() | {"images/3.png": FILES["bomb"][1], "images/4.jpg": b"no image"}
    page = settle(ada, send(ada, {"captions.zip": zipped(bad)}))
    assert page.context["problems"] == [
        f"{TEST}, line 2, field context: 3.png: more than 16 million pixels",
        f"{TEST}, line 3, field context: 4.jpg: not a PNG, JPEG or WebP image",
    ]
    good = {"3.png": pictures.picture(3), "4.jpg": pictures.picture(4, "JPEG")}
    address = reverse("task_upload_files", args=[page.context["upload"].pk])
    page = settle(ada, send(ada, good, address=address))
    assert page.context["problems"] == []
    act(ada, page, "confirm")
    assert Task.objects.get().images.count() == 6


def test_images_that_no_task_uses_are_deleted(task):
    unused = Image.objects.create(name="0" * 64 + ".png", data=b"")
    importing.drop_unfinished(timezone.now() + timedelta(days=1))
    assert not Image.objects.filter(pk=unused.pk).exists()
    assert Image.objects.count() == 6


def test_annotators_see_the_image_and_programs_its_address(task, researcher, client):
    study = factories.make_study(researcher, task, shots=[2], annotators=2, rehearsal=True)
    participation = factories.seat(study.scenarios.get(), kind="simulated")
    _participation, turn = factories.go_on(participation.token)
    shown = image_of(turn.example)
    address = reverse("image", args=[shown.name])
    headers = {"Authorization": f"Bearer {participation.token}"}
    state = client.get("/api/v1/work/", headers=headers).json()
    assert state["question"]["segments"] == [
        {"name": "Picture", "text": shown.alt, "image": address},
        {"name": "Caption", "text": turn.example.context[1]},
    ]
    page = client.get(reverse("work", args=[participation.token])).content.decode()
    assert f'<img src="{address}" alt="{shown.alt}"' in page
    factories.work_through(participation)
    reveals = client.get("/api/v1/work/history/", headers=headers).json()["answered"]
    assert reveals[0]["question"]["segments"][0]["image"].startswith("/images/")


def test_a_study_with_images_is_exported_and_verified(task, researcher, tmp_path):
    study = factories.make_study(researcher, task, shots=[2], annotators=2, rehearsal=True)
    call_command("simulate_workers", study.name, policy="gold", processes=1, verbosity=0)
    assert set(Answer.objects.values_list("s1", flat=True)) == {1}
    folder = tmp_path / "export"
    call_command("export_study", study.name, folder, verbosity=0)
    assert {p.name: p.read_bytes() for p in (folder / "images").iterdir()} == {
        image.name: bytes(image.data) for image in task.images.all()
    }
    verified = subprocess.run(
        [sys.executable, "verify.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr
    packed = b"".join(files.stream_export(study))
    names = zipfile.ZipFile(io.BytesIO(packed)).namelist()
    assert sum(name.startswith(f"{study.name}/images/") for name in names) == 6


def test_an_image_is_shown_to_researchers(task, researcher, ada):
    study = factories.make_study(researcher, task, shots=[2], annotators=1)
    factories.work_through(participation := factories.seat(study.scenarios.get()))
    address = reverse("participation", args=[study.name, participation.pseudonym])
    assert ada.get(address).content.count(b'<img src="/images/') == 6


def test_the_checklist_states_that_examples_contain_images(task, researcher):
    study = factories.make_study(researcher, task, shots=[2], annotators=1)
    (item,) = (e for e in checklists.form_of(study, "wei-2025").entries if e.number == "0.6")
    assert item.answer == "Text, Image"
    assert item.evidence == f"Examples of {task.name} contain images with alternative texts."


def test_an_old_image_that_is_imported_again_is_kept(task, folder):
    task.delete()
    long_ago = timezone.now() - timedelta(days=9)
    Image.objects.update(stored_at=long_ago)
    with images.cleaned(folder) as place:
        Image.objects.store(place, images.files_in(place))
    importing.drop_unfinished(timezone.now() - timedelta(days=1))
    assert Image.objects.count() == 6


def test_the_picture_of_a_phone_is_its_first_image(db, tmp_path):
    file, second = io.BytesIO(), Pillow.new("RGB", pictures.SIZE)
    Pillow.new("RGB", pictures.SIZE, "red").save(file, "MPO", save_all=True, append_images=[second])
    made = pictures.files() | {"images/4.jpg": file.getvalue()}
    call_command("import_task", pictures.write(tmp_path / "task", made), verbosity=0)
    shown = image_of(Example.objects.get(source_id="e4"))
    decoded = Pillow.open(io.BytesIO(bytes(Image.objects.get(pk=shown.name).data)))
    assert (decoded.format, decoded.getpixel((5, 5))[0] > 240) == ("JPEG", True)


def test_a_folder_named_clean_is_not_trusted(db, tmp_path):
    made = pictures.files()
    raw = {path.replace("images/", "clean/"): data for path, data in made.items()}
    call_command("import_task", pictures.write(tmp_path / "task", made | raw), verbosity=0)
    for image in Image.objects.all():
        assert b"A camera" not in bytes(image.data)


def test_the_landing_page_shows_the_image_of_its_example(task, researcher, client):
    study = factories.make_study(researcher, task, shots=[2], annotators=1)
    page = client.get(reverse("landing", args=[study.link_code])).content.decode()
    example = Example.objects.get(source_id="e0")
    address = reverse("image", args=[image_of(example).name])
    assert f'<img src="{address}" alt="A disc (and a frame)."' in page
    assert "The caption 0." in page


def test_the_pages_of_a_bundle_show_the_images_offline(task, researcher):
    study = factories.make_study(researcher, task, shots=[2], annotators=1)
    page = dict(pages_seen.pages(study))["captions-question"]
    assert 'src="../images/' in page
    assert '"/images/' not in page


def test_a_highlight_in_an_image_is_refused(db, tmp_path, researcher):
    card = {"labels": None, "no_answer": True, "family": "reading_comprehension"}
    made = pictures.files(train=1, test=1, **card)
    pictures.write(tmp_path / "spans", made)
    call_command("import_task", tmp_path / "spans", verbosity=0)
    task = Task.objects.get()
    example = task.test_split.examples.get()
    fields = {"answer": json.dumps({"v": 1, "no_answer": False, "spans": [
        {"field": "context", "index": 0, "start": 2, "end": 3}]})}  # fmt: skip
    with pytest.raises(Exception, match="text that does not exist"):
        task.card.kind.read(task.card, example, fields)
    with pytest.raises(Exception, match="is not in the text"):
        task.card.kind.read(task.card, example, {"typed": "disc"})
    assert task.card.kind.read(task.card, example, {"typed": "caption"}).texts == ["caption"]

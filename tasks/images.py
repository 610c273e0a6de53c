"""Images as segments of examples: their notation, and checks of their files.

In a task's files, a segment is {"image": FILE, "alt": TEXT}, which names a file in the folder
`images`. After the import, it is the text ![TEXT](FILE), in which FILE is named after its SHA-256,
so that hashes, exports and text comparisons cover it. Only pages and spans treat it differently.

The import rewrites each file, so that no metadata (EXIF, location, thumbnails) is stored. A PNG or
JPEG that consists only of pixels is left unchanged, so that exported files keep their names.
"""

import hashlib
import io
import re
import shutil
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

FOLDER, CLEAN = "images", "clean"  # the files as sent, and as stored
TYPES = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}
MAX_BYTES = 5_000_000
MAX_PIXELS = 16_000_000
LONGEST_ALT = 1000  # characters
BATCH = 10  # images cleaned by one process
NAME = re.compile(r"[0-9a-f]{64}\.(?:png|jpg)")
NOTATION = re.compile(rf"!\[(?P<alt>.+)\]\((?P<name>{NAME.pattern})\)", re.DOTALL)
MODES = {"1": "RGB", "L": "RGB", "LA": "RGBA", "P": "RGB", "PA": "RGBA", "RGB": "RGB",
         "RGBA": "RGBA", "CMYK": "RGB", "YCbCr": "RGB"}  # fmt: skip
PNG, JPEG_END = b"\x89PNG\r\n\x1a\n", b"\xff\xd9"
PNG_PARTS = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"}
JPEG_PARTS = {b"\xff" + bytes([part]) for part in (0xC0, 0xC1, 0xC2, 0xC4, 0xDA, 0xDB, 0xDD, 0xE0)}
JPEG_SCAN, AFTER_SCAN = b"\xff\xda", re.compile(rb"\xff[^\x00\xd0-\xd7]")


class ImageError(ValueError):
    """Raised for an unusable image. The message says what was expected."""


class Image(NamedTuple):
    """An image as a segment. `text` is its notation."""

    alt: str
    name: str
    text: str


def image_in(segment: str) -> Image | None:
    """Return the image in this segment, or None if the segment is text."""
    matched = NOTATION.fullmatch(segment) if segment.startswith("![") else None
    return Image(matched["alt"], matched["name"], segment) if matched else None


def as_published(segment: str) -> str | dict[str, str]:
    image = image_in(segment)
    return {"image": image.name, "alt": image.alt} if image else segment


def is_image(file: str) -> bool:
    return Path(file).suffix.lower() in TYPES


def name_of(data: bytes) -> str:
    return f"{hashlib.sha256(data).hexdigest()}.{'png' if data.startswith(PNG) else 'jpg'}"


def with_notation(context: Any, folder: Path, is_allowed: bool) -> Any:
    """Replace {"image", "alt"} in a context of the task in this folder. Raises ImageError."""
    if isinstance(context, list):
        return [
            segment if isinstance(segment, list) else with_notation(segment, folder, is_allowed)
            for segment in context
        ]
    if isinstance(context, str) and image_in(context):
        raise ImageError('written like an imported image; expected {"image": ..., "alt": ...}')
    if not isinstance(context, dict):
        return context
    if not is_allowed:
        raise ImageError("contains an image; set images = true in the card (task.toml)")
    if set(context) != {"image", "alt"} or not all(isinstance(v, str) for v in context.values()):
        raise ImageError('expected an image as {"image": file name, "alt": alternative text}')
    file, alt = context["image"], context["alt"].strip()
    if not 1 <= len(alt) <= LONGEST_ALT:
        raise ImageError(
            f"{file}: expected an alternative text (alt) of 1 to {LONGEST_ALT:,} characters"
        )
    if Path(file).name != file or not (is_image(file) and file.isprintable() and len(file) < 200):
        raise ImageError(f"{file}: expected the name of a .png, .jpg, .jpeg or .webp file")
    cleaned = folder / CLEAN / file
    try:
        data = cleaned.read_bytes() if cleaned.is_file() else clean(folder / FOLDER / file)
    except ImageError as error:
        raise ImageError(f"{file}: {error}") from None
    return f"![{alt}]({name_of(data)})"


def files_in(folder: Path) -> list[str]:
    listed = (folder / FOLDER).iterdir() if (folder / FOLDER).is_dir() else ()
    return sorted(path.name for path in listed if is_image(path.name))


def batches(folder: Path) -> list[list[str]]:
    """Return the names of the images, in batches that are cleaned together."""
    files = files_in(folder)
    return [files[start : start + BATCH] for start in range(0, len(files), BATCH)]


def clean_all(folder: Path, files: list[str]) -> None:
    """Write usable images to CLEAN. All others are later reported with their lines."""
    (folder / CLEAN).mkdir(exist_ok=True)
    for file in files:
        place, part = folder / CLEAN / file, folder / CLEAN / f".{file}"
        with suppress(ImageError):
            if not place.exists():
                part.write_bytes(clean(folder / FOLDER / file))
                part.replace(place)  # complete, even if the process is stopped


@contextmanager
def cleaned(folder: Path) -> Iterator[Path]:
    """Yield a folder with clean images: this one, or a temporary copy if it has any images."""
    if not (files_in(folder) or (folder / CLEAN).exists()):
        yield folder
        return
    with tempfile.TemporaryDirectory() as place:
        ignored = shutil.ignore_patterns(CLEAN)
        copy = shutil.copytree(folder, Path(place, folder.resolve().name), ignore=ignored)
        clean_all(copy, files_in(copy))
        yield copy


def clean(path: Path) -> bytes:
    """Return the file as PNG or JPEG without metadata. Raises ImageError."""
    if not path.is_file():
        raise ImageError(f"the file is not in the folder {FOLDER}")
    if path.stat().st_size > MAX_BYTES:
        raise ImageError(f"larger than {MAX_BYTES // 10**6} MB")
    import PIL.Image  # only here, because annotators' pages do not need it

    data = path.read_bytes()
    try:
        with PIL.Image.open(io.BytesIO(data), formats=tuple(set(TYPES.values()))) as image:
            _check(image, TYPES[path.suffix.lower()])
            image.load()
            data = data if _is_bare(data) else _rewritten(image, data)
    except PIL.UnidentifiedImageError:
        raise ImageError("not a PNG, JPEG or WebP image") from None
    except PIL.Image.DecompressionBombError:
        raise ImageError(_too_large()) from None
    except (OSError, SyntaxError, ValueError, IndexError, EOFError, struct.error) as error:
        if isinstance(error, ImageError):
            raise
        raise ImageError(f"cut off or damaged ({error})") from None
    if len(data) > MAX_BYTES:
        raise ImageError(f"larger than {MAX_BYTES // 10**6} MB after it was rewritten")
    return data


def _check(image: Any, expected: str) -> None:
    """Check the header before any pixels are decoded. Raises ImageError."""
    if image.format != expected and (image.format, expected) != ("MPO", "JPEG"):
        raise ImageError(f"the content is {image.format}, not {expected}; correct the file name")
    if getattr(image, "n_frames", 1) > 1 and image.format != "MPO":  # of phones: first is shown
        raise ImageError("animated; expected a single image")
    if image.width * image.height > MAX_PIXELS:
        raise ImageError(_too_large())
    if image.mode not in MODES:
        raise ImageError("expected 8 bits per channel")


def _too_large() -> str:
    return f"more than {MAX_PIXELS // 10**6} million pixels"


def _rewritten(image: Any, data: bytes) -> bytes:
    """Encode the pixels again: upright, in sRGB, and as JPEG if the file was lossy."""
    from PIL import ImageCms, ImageOps

    profile = image.info.get("icc_profile")
    is_jpeg = image.format in ("JPEG", "MPO") or (image.format == "WEBP" and b"VP8 " in data[:64])
    mode = "RGBA" if image.has_transparency_data else MODES[image.mode]
    image = ImageOps.exif_transpose(image)
    if profile and image.mode in ("RGB", "CMYK"):
        source, srgb = ImageCms.ImageCmsProfile(io.BytesIO(profile)), ImageCms.createProfile("sRGB")
        try:
            image = ImageCms.profileToProfile(image, source, srgb, outputMode="RGB")
        except ImageCms.PyCMSError as error:
            raise ImageError(f"unusable colour profile ({error})") from None
    image = image.convert(mode)
    image.info.clear()
    output = io.BytesIO()
    if is_jpeg and mode == "RGB":
        image.save(output, "JPEG", quality=95)
    else:
        image.save(output, "PNG")
    return output.getvalue()


def _is_bare(data: bytes) -> bool:
    """Return whether a PNG or JPEG contains only the parts required for its pixels."""
    at, part = len(PNG), b""
    if data.startswith(PNG):
        while part != b"IEND":
            part = data[at + 4 : at + 8]
            if part not in PNG_PARTS:
                return False
            at += 12 + int.from_bytes(data[at : at + 4])
        return at == len(data)
    at = 2
    while data[at : at + 2] != JPEG_END:
        part, length = data[at : at + 2], int.from_bytes(data[at + 2 : at + 4])
        if part not in JPEG_PARTS or (part == b"\xff\xe0" and length != 16):  # contains a thumbnail
            return False
        at += 2 + length
        if part == JPEG_SCAN:
            following = AFTER_SCAN.search(data, at)
            at = following.start() if following else len(data)
    return at + 2 == len(data)

"""Run a Containerfile step by step in empty machines, without a container engine.

It supports the instructions that deploy/ uses and raises an error for others. mmdebstrap makes
the Debian images, so that each RUN sees the same system as in the real image.
"""

import json
import re
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tests.deploy import machine

DEBIAN = "docker.io/library/debian:bookworm-slim"


@dataclass
class Image:
    """A file system, and how a container of it starts."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0:0"
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)


def instructions(text: str) -> list[tuple[str, str]]:
    """Return (instruction, arguments) in order; join continued lines and skip comments."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n", " ", lines)
    return [tuple(line.strip().split(None, 1)) for line in joined.splitlines() if line.strip()]


def build(containerfile: Path, context: Path, scratch: Path) -> Image:
    """Build that file as folders under `scratch`; return the last stage."""
    stages: dict[str, Image] = {}
    image = Image(scratch)
    for number, (name, rest) in enumerate(instructions(containerfile.read_text())):
        if name == "FROM":
            source, _as, stage = (*rest.split(), "", "")[:3]
            root = scratch / f"stage-{number}"
            if source == DEBIAN:
                image = Image(machine.new(root))
            else:
                base = stages[source]
                image = Image(machine.copy(base.root, root), dict(base.environment), base.folder)
            stages[stage or str(number)] = image
        elif name == "RUN":
            machine.run(
                machine.inside(
                    image.root, ["/bin/sh", "-c", rest], environment=image.environment,
                    folder=image.folder, user=image.user,
                )
            )  # fmt: skip
        elif name == "COPY":
            _copy(rest, image, stages, context)
        elif name == "WORKDIR":
            image.folder = rest
            (image.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif name == "ENV":
            image.environment |= dict(pair.split("=", 1) for pair in shlex.split(rest))
        elif name == "USER":
            image.user = rest
        elif name == "CMD":
            image.command = json.loads(rest)
        elif name == "HEALTHCHECK":
            image.health = json.loads(rest.split(" CMD ")[1])
        else:
            assert name in ("VOLUME", "EXPOSE", "STOPSIGNAL"), f"{name} is not known here"
    return image


def _copy(rest: str, image: Image, stages: dict[str, Image], context: Path) -> None:
    *sources, target = shlex.split(rest)
    place = context
    if sources[0].startswith("--from="):
        place = stages[sources.pop(0).removeprefix("--from=")].root
    into = image.root / (Path("/") / image.folder / target).as_posix().lstrip("/")
    for path in (path for source in sources for path in place.glob(source.lstrip("/"))):
        if path.is_dir():
            shutil.copytree(path, into, symlinks=True, dirs_exist_ok=True)
        else:
            file = into / path.name if target.endswith("/") else into
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, file)

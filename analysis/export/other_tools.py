"""Writers that export a study's answers to the formats of other tools, by name."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from analysis.export import conll, files, harness_samples, hugging_face, inspect_logs, label_studio
from annotation.models import Study


class Format(NamedTuple):
    """An export format: its writer, whether it can run, and the package that it needs."""

    write: Callable[[Study, Path], dict[str, int]]
    can_write: Callable[[], bool] = lambda: True
    needs: str = ""


FORMATS = {
    "inspect": Format(inspect_logs.write, inspect_logs.can_write, inspect_logs.NEEDS),
    "lm-eval": Format(harness_samples.write),
    "hf": Format(hugging_face.write),
    "label-studio": Format(label_studio.write),
    "conll": Format(conll.write),
}


class NotInstalled(Exception):
    """Raised if a format requires a missing library. Users see the message."""


def write(study: Study, folder: Path, name: str) -> dict[str, int]:
    """Write the answers in this format into an empty folder and return the rows of each file.

    The folder appears only when it is complete. Raises FileExistsError if it exists and is not
    empty, NotInstalled, and answered.NothingAnswered.
    """
    form = FORMATS[name]
    if not form.can_write():
        raise NotInstalled(f"--as {name} needs {form.needs}: pip install {form.needs}")
    with files.whole_folder(folder) as building, files.snapshot():
        return form.write(study, building)

"""A study's release bundle, which contains everything needed to check, reuse and cite it.

It contains the export (CSVs, manifest, verify.py), R code for a mixed model, Parquet files,
metadata, instructions and cards, the pages that annotators saw, the preregistration, the report,
and the output of verify.py. Platform ids are only read to remove them from texts.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.text import slugify

from analysis.documents import blocks, checklists, front, paper_tables, preregistration, report
from analysis.documents.wording import moment
from analysis.export import files, pages_seen, publishing, screenshots
from analysis.export.columns import COLUMNS
from analysis.figures import data as figure_data
from analysis.scores import performance
from analysis.scores.markup import as_latex
from annotation.models import Kind, Study
from annotation.recruitment import identities
from tasks.cards import Card
from tasks.csv_files import csv_text

MIXED_MODEL = Path(__file__).with_name("analysis.R")
OWN_STYLES = (
    "pages", "plain", "tokens", "base", "worker", "choices", "highlighter", "label-search",
    "panel", "reveal", "visit", "researcher", "print",
)  # fmt: skip
STYLES = {
    "pico.css": "vendor/pico-2.1.1.min.css",
    **{f"{name}.css": f"css/{name}.css" for name in OWN_STYLES},
}
# Maps files to their columns that contain text entered by users.
WRITTEN = {
    "answers.csv": ["reason", "problem"],
    "decisions.csv": ["reason"],
    "questionnaire.csv": ["tools", "comments"],
    "own_answers.csv": ["answer"],
}
ALSO = "\n## Also in this folder\n"


class ReleaseError(Exception):
    """Raised if the bundle cannot be written. The message gives users the reason."""


def write_release(
    study: Study,
    target: Path,
    browser: str | None = None,
    warn: Callable[[str], Any] = str,
    key: Path | None = None,
    round_times: str = "",
) -> str:
    """Write the bundle to a new folder, and return the output of verify.py.

    `browser` takes screenshots of the pages. If it fails, `warn` is called with the reason. `key`
    is the SSH key that signs the checksums, and `round_times` is one of publishing.UNITS. The
    bundle appears only once it is complete. Raises ReleaseError if the study is a draft, if
    verify.py finds a difference or if signing fails, and FileExistsError if the target already
    exists.
    """
    if study.is_draft:
        raise ReleaseError("The study is a draft. Open it before you release it.")
    with files.whole_folder(target) as folder:
        with files.snapshot():
            write_data(study, folder, round_times)
        write_readme(folder, _write_pictures(folder, browser, warn))
        for name in COLUMNS:
            write_parquet(folder, name)
        return verify(folder, key)


def write_data(study: Study, folder: Path, round_times: str = "") -> None:
    """Write all files except Parquet to a folder, in a single `snapshot`. Raises ReleaseError."""
    masked = _masked(study)
    files.write_files(study, folder)
    for name, columns in WRITTEN.items():
        publishing.change_columns(folder / name, dict.fromkeys(columns, masked))
    if round_times:
        publishing.round_files(folder, round_times)
    shutil.copyfile(MIXED_MODEL, folder / MIXED_MODEL.name)
    _write_documents(study, folder, masked, files.write_data_sums(folder), round_times)
    write_tables(study, folder / "tables")
    lists = folder / "checklists"
    lists.mkdir()
    for name, form in checklists.forms_of(study, masked).items():
        _text(lists / f"{name}.tex", checklists.as_latex(form))
        _text(lists / f"{name}.json", checklists.as_json(form))
    _text(lists / "sample.json", checklists.sample_file(study, "json"))
    _write_published(study, folder, masked)
    _write_materials(study, folder / "materials")
    (folder / "seen").mkdir()
    for name, html in pages_seen.pages(study).items():
        _text(folder / "seen" / f"{name}.html", html)


def write_tables(study: Study, folder: Path) -> None:
    for kind in performance.kinds(study):
        for name in paper_tables.titles(study):
            for table in paper_tables.tables(study, kind, name):
                subfolder = folder / kind
                subfolder.mkdir(parents=True, exist_ok=True)
                stem = slugify(table.name.removeprefix(f"{study.name}-").removesuffix(f"-{kind}"))
                _text(subfolder / f"{stem}.tex", as_latex(table))
                # Rounded as printed. verify.py reads other files with all digits.
                _text(subfolder / f"{stem}.csv", csv_text(table.headings, table.cells))


def _write_published(study: Study, folder: Path, masked: Callable[[str], str]) -> None:
    stored = study.report_answers.values_list("item", "text")
    answers = {item: masked(text) for item, text in stored}
    for name, text in publishing.files(study, answers, folder, timezone.now().date()):
        _text(folder / name, text)
    readme = folder / "README.md"
    _text(readme, publishing.front_matter(study, answers) + readme.read_text(encoding="utf-8"))


def write_readme(folder: Path, is_pictured: bool = False) -> None:
    """Add a list of all other files to README.md, replacing any previous list."""
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8").partition(ALSO)[0]
    context = {"is_pictured": is_pictured, "has_parquet": files.writes_parquet()}
    also = render_to_string("export/also_in_bundle.md", context)
    _text(readme, text + ALSO + also)


def write_parquet(folder: Path, name: str) -> None:
    """Convert a CSV to Parquet if pyarrow is installed. The file appears once it is complete."""
    if not files.writes_parquet():
        return
    (folder / "parquet").mkdir(exist_ok=True)
    target = folder / "parquet" / f"{name.removesuffix('.csv')}.parquet"
    part = target.with_suffix(".part")
    try:
        files.write_parquet(folder / name, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def verify(folder: Path, key: Path | None = None) -> str:
    """Write the checksums of all other files, sign them if given a key, and run verify.py.

    verify.py runs in a separate process, just as it does for readers. Its output is both stored and
    returned. Raises ReleaseError if verify.py finds a difference or if ssh-keygen fails.
    """
    (folder / "verify.txt").unlink(missing_ok=True)
    files.write_bundle_sums(folder)
    for name in (files.SUMS, files.BUNDLE_SUMS) if key else ():
        sign(folder / name, key)
    run = subprocess.run(
        [sys.executable, "-I", "-X", "utf8", str(folder / "verify.py")],
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    if run.returncode:
        raise ReleaseError(f"verify.py does not agree with the bundle:\n{run.stdout}{run.stderr}")
    _text(folder / "verify.txt", run.stdout)
    return run.stdout


def sign(path: Path, key: Path | None) -> None:
    """Sign a file with an SSH key, creating FILE.sig (namespace "handful"). Raises ReleaseError."""
    path.with_name(f"{path.name}.sig").unlink(missing_ok=True)
    command = ["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", "handful", str(path)]
    try:
        result = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    except FileNotFoundError:
        raise ReleaseError("ssh-keygen (OpenSSH 8.2 or newer) is needed to sign.") from None
    if result.returncode:
        raise ReleaseError(f"ssh-keygen did not sign {path.name}: {result.stderr.strip()}")


def _masked(study: Study) -> Callable[[str], str]:
    try:
        return identities.without_ids(study)
    except ValueError as error:
        raise ReleaseError(f"{error} Texts therefore cannot be checked for ids.") from None


def _write_documents(
    study: Study, folder: Path, masked: Callable[[str], str], sums: str, round_times: str
) -> None:
    """Write the preregistration and the report, which quotes `sums`, the SHA-256 of SHA256SUMS."""
    (folder / "style").mkdir()
    for name, path in STYLES.items():
        style = finders.find(path)
        assert style is not None  # the file is part of the source code
        shutil.copyfile(style, folder / "style" / name)
    _text(folder / "style" / "page.css", front.page_style(study))
    plan = preregistration.for_study(study)
    report_document = report.for_study(study, masked=masked, sums=sums)
    assert plan is not None  # drafts cannot be released
    assert report_document is not None
    for name, document in (("preregistration", plan), ("report", report_document)):
        context = {
            "document": document, "root": "", "pictures": "figures/", "page_style": "page.css",
        }  # fmt: skip
        texts = {
            "md": blocks.as_markdown(document),
            "html": render_to_string("export/offline.html", context),
        }
        for ext, text in texts.items():
            rounded = name == "report" and round_times
            _text(folder / f"{name}.{ext}", _rounded(study, text, round_times) if rounded else text)
    pictured = {
        block.name
        for section in report_document.sections
        for block in section.blocks
        if isinstance(block, blocks.Picture)
    }
    if pictured:
        (folder / "figures").mkdir()
    for name in sorted(pictured):
        figure = figure_data.figure(study, Kind.PERSON, name)
        for ext in ("svg", "pdf"):
            picture = figure_data.picture(figure, ext, "double")
            (folder / "figures" / f"{name}.{ext}").write_bytes(picture)
        data = figure_data.frame_csv(Kind.PERSON, figure.frame)
        _text(folder / "figures" / f"{name}.csv", data)


def _rounded(study: Study, text: str, unit: str) -> str:
    assert study.opened_at is not None  # drafts cannot be released
    opened = moment(study.opened_at)
    return opened.join(publishing.round_times_in(part, unit) for part in text.split(opened))


def _write_materials(study: Study, folder: Path) -> None:
    folder.mkdir()
    _text(folder / "consent.md", study.consent_text + "\n")
    for task in [*study.tasks.order_by("name"), *study.trained_tasks]:
        card = task.card
        text = json.dumps(card.as_dict(), ensure_ascii=False, indent=1)
        _text(folder / f"{task.name}.json", text + "\n")
        _text(folder / f"{task.name}.md", _instructions(card))


def _instructions(card: Card) -> str:
    parts = [f"# {card.title}", card.description, "## Instructions", card.instructions]
    for window in card.help_windows:
        parts += [f"## {window.title}", window.definition, f"Example: {window.example}"]
    return "\n\n".join(parts) + "\n"


def _write_pictures(folder: Path, browser: str | None, warn: Callable[[str], Any]) -> bool:
    """Take screenshots of the pages in seen/ if given a browser. Return whether there are any."""
    if browser is None:
        return False
    try:
        screenshots.take(folder / "seen", browser)
    except screenshots.PictureError as error:
        warn(str(error))
        return False
    return True


def _text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")

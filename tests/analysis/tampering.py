"""An export that somebody alters: its tables as rows, and a tamperer who makes the rest agree."""

import csv
import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analysis.export import files, verify
from analysis.export.columns import COLUMNS

Row = dict[str, str]
ROUNDS = 6  # a mean that was made to agree changes what is computed from it
COPIED = (
    "hash",
    "gold",
    "gold_rule",
    "status",
    "in_analysis",
    "kind",
    "flags",
    "no_interval",
    "best_annotator",
    "worst_annotator",
)  # besides all numbers


class Export:
    """The CSVs of a folder as rows that can be changed, and written back with their sums."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.tables: dict[str, list[Row]] = {}
        for name in COLUMNS:
            with (folder / name).open(encoding="utf-8", newline="") as file:
                self.tables[name] = list(csv.DictReader(file))

    def __getitem__(self, name: str) -> list[Row]:
        return self.tables[name]

    def keep(self, name: str, keeps: Callable[[Row], bool]) -> None:
        """Delete the other rows of a file."""
        self.tables[name] = [row for row in self[name] if keeps(row)]

    def delete(self, annotator: str) -> None:
        """Delete an annotator from every file that names annotators."""
        for name, columns in COLUMNS.items():
            if "annotator" in columns:
                self.keep(name, lambda row: row["annotator"] != annotator)

    def design(self) -> dict[str, Any]:
        design: dict[str, Any] = json.loads((self.folder / "manifest.json").read_text())
        return design

    def freeze(self, design: dict[str, Any]) -> None:
        """Write another design, with its hash in every row."""
        manifest = json.dumps(design, sort_keys=True, ensure_ascii=False).encode()
        (self.folder / "manifest.json").write_bytes(manifest)
        digest = hashlib.sha256(manifest).hexdigest()
        for table in self.tables.values():
            for row in table:
                if "manifest" in row:
                    row["manifest"] = digest

    def write(self, *names: str) -> None:
        """Write these files, or all, and all sums."""
        for name in names or COLUMNS:
            with (self.folder / name).open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS[name], lineterminator="\r\n")
                writer.writeheader()
                writer.writerows(self[name])
        files.write_sums(self.folder)

    def verify(self) -> int:
        return verify.main(self.folder)


def make_agree(export: Export, monkeypatch) -> None:
    """Recompute what verify.py recomputes: write each number that it expects into its cell.

    No tamperer does this by hand as thoroughly. What is no number, and no copy of a cell that was
    changed on purpose, is left alone.
    """
    expected: list[tuple[str, Any, str, Any]] = []
    differs = verify.Check.differs

    def noted(check, file, row, column, actual, wanted):
        expected.append((file, row, column, wanted))
        differs(check, file, row, column, actual, wanted)

    with monkeypatch.context() as patch:
        patch.setattr(verify.Check, "differs", noted)
        for _round in range(ROUNDS):
            export.write()
            expected.clear()
            if export.verify() == 0:
                break
            for file, row, column, wanted in expected:
                _write_expected(export, file, row, column, wanted)
    export.write()


def _write_expected(export: Export, file: str, row: Any, column: str, wanted: Any) -> None:
    is_number = wanted is None or isinstance(wanted, int | float)
    is_copy = (column in COPIED and ", " not in str(wanted)) or (
        isinstance(wanted, str) and wanted.replace(".", "").isdigit()
    )
    if file not in export.tables or not isinstance(row, int) or not (is_number or is_copy):
        return
    table = export[file]
    if row - 2 < len(table) and column in table[row - 2] and not isinstance(wanted, tuple):
        table[row - 2][column] = "" if wanted is None or wanted != wanted else str(wanted)


# What stands outside ------------------------------------------------------------------------------

SIGNER = "ada@example.org"


def make_key(folder: Path) -> Path:
    """A new SSH key, with the list of who may sign beside it."""
    path = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    public = path.with_suffix(".pub").read_text().rsplit(" ", 1)[0]
    path.with_name("allowed_signers").write_text(f"{SIGNER} {public}\n")
    return path


def is_signed(path: Path, key: Path) -> bool:
    """Whether the signature is of this very file, as verify.py says that it is checked."""
    signers = str(key.with_name("allowed_signers"))
    command = ["ssh-keygen", "-Y", "verify", "-f", signers, "-I", SIGNER, "-n", "handful"]
    with path.open("rb") as file:
        done = subprocess.run(
            [*command, "-s", f"{path}.sig"], stdin=file, capture_output=True, check=False
        )
    return done.returncode == 0

"""Altered exports: tables as rows, and functions that make the other files consistent."""

import csv
import hashlib
import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analysis.export import files, verify
from analysis.export.columns import COLUMNS

Row = dict[str, str]
ROUNDS = 6  # each round can change numbers that depend on a corrected one


class Export:
    """The CSVs of a folder as rows that can be changed and written back with new checksums."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.tables: dict[str, list[Row]] = {}
        for name in COLUMNS:
            with (folder / name).open(encoding="utf-8", newline="") as file:
                self.tables[name] = list(csv.DictReader(file))

    def __getitem__(self, name: str) -> list[Row]:
        return self.tables[name]

    def keep(self, name: str, keeps: Callable[[Row], bool]) -> None:
        """Delete the rows of a file that `keeps` rejects."""
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
        """Replace the design, and its hash in every row."""
        manifest = json.dumps(design, sort_keys=True, ensure_ascii=False).encode()
        (self.folder / "manifest.json").write_bytes(manifest)
        digest = hashlib.sha256(manifest).hexdigest()
        for table in self.tables.values():
            for row in table:
                if "manifest" in row:
                    row["manifest"] = digest

    def write(self, *names: str) -> None:
        """Write these files, or all files, and all checksums."""
        for name in names or COLUMNS:
            with (self.folder / name).open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS[name], lineterminator="\r\n")
                writer.writeheader()
                writer.writerows(self[name])
        files.write_sums(self.folder)

    def verify(self, *arguments: str) -> int:
        return verify.main(self.folder, arguments)


def make_agree(export: Export, monkeypatch) -> None:
    """Write each number that verify.py expects into its cell, then write all checksums.

    This is more thorough than a manual change. Texts are left alone.
    """
    wrong = verify.Check.wrong

    def rewritten(check, row, column, expected):
        wrong(check, row, column, expected)
        if isinstance(expected, int | float):
            is_known = not math.isnan(expected)
            export[row.file][row.number - 2][column] = str(expected) if is_known else ""

    with monkeypatch.context() as patch:
        patch.setattr(verify.Check, "wrong", rewritten)
        for _round in range(ROUNDS):
            export.write()
            if export.verify() == 0:
                break
    export.write()


# Records outside the export -----------------------------------------------------------------------

SIGNER = "ada@example.org"


def make_key(folder: Path) -> Path:
    """Create an SSH key and a file of allowed signers next to it."""
    path = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    public = path.with_suffix(".pub").read_text().rsplit(" ", 1)[0]
    path.with_name("allowed_signers").write_text(f"{SIGNER} {public}\n")
    return path

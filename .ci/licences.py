"""Check the licences of the Python packages that a server installs (THIRD-PARTY.md).

`python .ci/licences.py` reports differences between the list and the metadata of installed
packages, and licences that are not accepted. `python .ci/licences.py renew` writes the list.
"""

import re
import sys
from collections import defaultdict
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "deploy" / "requirements.lock"
LIST = ROOT / "THIRD-PARTY.md"
BEGIN, END = "<!-- licences:begin -->", "<!-- licences:end -->"
# Licences that are compatible with code under the MIT licence. Packages under LGPL and MPL are used
# unchanged and remain separate, replaceable packages.
AGREED = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "LGPL-3.0-or-later", "MIT",
    "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib",
}  # fmt: skip
# Read from the package's text, because the metadata lacks a licence or its SPDX identifier.
READ = {
    "amqp": "BSD-3-Clause",
    "billiard": "BSD-3-Clause",
    "click-plugins": "BSD-3-Clause",
    "drf-spectacular-sidecar": "BSD-3-Clause",
    "fido2": "BSD-2-Clause AND Apache-2.0 AND MPL-2.0",
    "psycopg2-binary": "LGPL-3.0-or-later",
    "python-dateutil": "Apache-2.0 AND BSD-3-Clause",
    "qrcode": "BSD-3-Clause",
    "sqlparse": "BSD-3-Clause",
    "uritemplate": "BSD-3-Clause OR Apache-2.0",
    "vine": "BSD-3-Clause",
}
CLASSIFIERS = {"MIT License": "MIT", "BSD License": "BSD-3-Clause"}


def locked() -> list[str]:
    """Return the packages of a server, independent of the running Python version."""
    python = {"python_version": "3.12", "python_full_version": "3.12.0"}
    pins = re.findall(r"^([\w.-]+==[^\\\n]*)", LOCK.read_text(), re.M)
    needed = [Requirement(pin) for pin in pins]
    return [pin.name for pin in needed if pin.marker is None or pin.marker.evaluate(python)]


def licence(name: str) -> str:
    """Return the SPDX expression, or the licence text in the metadata, or "" if there is none."""
    if name in READ:
        return READ[name]
    about = metadata(name)
    classifiers = [text.split(" :: ")[-1] for text in about.get_all("Classifier", [])]
    named = [CLASSIFIERS[text] for text in classifiers if text in CLASSIFIERS]
    return about["License-Expression"] or about["License"] or " AND ".join(named)


def installed() -> tuple[dict[str, str], list[str]]:
    """Return the licence of each locked package, and the names of packages not installed."""
    licences, absent = {}, []
    for name in locked():
        try:
            licences[name] = licence(name)
        except PackageNotFoundError:
            absent.append(name)
    return licences, absent


def refused(licences: dict[str, str]) -> list[str]:
    """Return a sentence for each package whose licence is not accepted."""
    return [
        f"{name}: {text or 'no licence'} is not among those agreed to (.ci/licences.py)"
        for name, text in licences.items()
        if not text or not set(re.split(r" (?:AND|OR) ", text.strip("()"))) <= AGREED
    ]


def listing(licences: dict[str, str]) -> str:
    packages = defaultdict(list)
    for name, text in licences.items():
        packages[text].append(name)
    rows = [f"| {text} | {', '.join(sorted(packages[text]))} |" for text in sorted(packages)]
    return "\n".join([BEGIN, "| licence | packages |", "|---|---|", *rows, END])


def main() -> int:
    licences, absent = installed()
    page = LIST.read_text()
    begin, end = page.index(BEGIN), page.index(END) + len(END)
    complaints = refused(licences) + [f"{name} is locked but not installed" for name in absent]
    if sys.argv[1:] == ["renew"] and not complaints:
        LIST.write_text(page[:begin] + listing(licences) + page[end:])
    elif page[begin:end] != listing(licences):
        complaints.append("THIRD-PARTY.md is not up to date: python .ci/licences.py renew")
    print("\n".join(complaints), end="\n" if complaints else "")
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())

"""The documentation as a static site (`make site`)."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from lxml import html

from config.settings import BASE_DIR, VERSION

LOADED = (
    "//script/@src | //img/@src | //link[@rel!='canonical']/@href | //source/@src | //iframe/@src"
)


def build(folder: Path, docs: Path = BASE_DIR / "docs") -> subprocess.CompletedProcess:
    config = BASE_DIR / ".ci/site/mkdocs.yml"
    text = config.read_text().replace("hooks.py", str(config.with_name("hooks.py")))
    changed = folder.with_name("mkdocs.yml")
    changed.write_text(text.replace("../../docs", str(docs)))
    command = [sys.executable, "-m", "mkdocs", "build", "-f", changed, "-d", folder]
    return subprocess.run(command, capture_output=True, text=True)


def test_site_has_all_documents_and_loads_only_its_own_files(tmp_path):
    done = build(tmp_path / "site")
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site" / VERSION
    for document in (BASE_DIR / "docs").rglob("*.md"):
        name = document.relative_to(BASE_DIR / "docs").with_suffix(".html").as_posix()
        page = site / name.replace("README", "index")
        for address in html.fromstring(page.read_bytes()).xpath(LOADED):
            assert (page.parent / address.partition("?")[0]).exists(), f"{name}: {address}"
    assert "/api/v1/studies/" in json.loads((site / "openapi.json").read_text())["paths"]
    index = json.loads((site / "search/search_index.json").read_text())
    assert any(entry["location"] == "protocol.html#anchor-examples" for entry in index["docs"])
    versions = json.loads((tmp_path / "site/versions.json").read_text())
    assert [entry["version"] for entry in versions] == [VERSION]


def test_link_to_a_missing_heading_stops_the_build(tmp_path):
    docs = shutil.copytree(BASE_DIR / "docs", tmp_path / "docs")
    with (docs / "sizes.md").open("a") as file:
        file.write("\n[nowhere](protocol.md#no-such-heading)\n")
    done = build(tmp_path / "site", docs)
    assert done.returncode != 0
    assert "no-such-heading" in done.stderr

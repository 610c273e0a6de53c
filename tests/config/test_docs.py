"""Links, commands, settings, columns and licences in the documents agree with the code."""

import ast
import dataclasses
import hashlib
import re
import runpy
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.urls import resolve
from markdown_it import MarkdownIt

from analysis.documents.paper_tables import ARM_TABLES, TABLES
from analysis.export.columns import COLUMNS
from annotation.models import OPTIONS, Study
from annotation.monitoring.sample import LARGEST_EXPORT
from config.help import anchors, documents
from tasks.cards import Card
from tests.config.test_hostile_requests import TAKE_FILES

ROOT = Path(__file__).parents[2]
OURS = ("config", "tasks", "annotation", "analysis", "templates", "static", "tests", "benchmarks",
        "deploy", "docs", ".ci")  # fmt: skip
CODE = {".py", ".html", ".js", ".mjs", ".css", ".toml", ".service", ".conf", ".sh"}
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", *(f"{folder}/**/*.md" for folder in OURS))
    for path in ROOT.glob(pattern)
    if "LICENSE" not in path.name and "node_modules" not in path.parts
)
OPERATING = (ROOT / "docs" / "operating.md").read_text()


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def code_files() -> Iterator[Path]:
    for folder in OURS:
        for path in sorted((ROOT / folder).rglob("*")):
            elsewhere = {"vendor", "node_modules"} & set(path.parts)
            if path.suffix in CODE and not elsewhere and path.name != "test_docs.py":
                yield path


def links(path: Path) -> Iterator[str]:
    """Yield the targets of all links and images of a document."""
    for block in MarkdownIt("commonmark").enable("table").parse(text(path)):
        for token in block.children or []:
            target = token.attrGet("href") or token.attrGet("src")
            if target:
                yield str(target)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_link_of_a_document_has_a_target(path):
    for target in links(path):
        if re.match(r"[a-z]+:", target):
            continue
        file, _hash, anchor = target.partition("#")
        linked = (path.parent / file).resolve() if file else path
        assert linked.exists(), target
        assert linked.is_relative_to(ROOT), target
        if anchor:
            assert anchor in anchors(text(linked)), target


def test_anchors_are_derived_from_headings():
    assert anchors("# One\n\n## S1, and more\n\n## One\n") == ["one", "s1-and-more", "one-1"]


@pytest.mark.long
def test_every_cited_document_exists_with_its_anchor():
    cited = 0
    for path in code_files():
        for file, anchor in re.findall(r"\b(docs/[\w/-]+\.md)(?:#([\w-]+))?", text(path)):
            cited += 1
            assert (ROOT / file).exists(), f"{name(path)}: {file}"
            if anchor:
                assert anchor in anchors(text(ROOT / file)), f"{name(path)}: {file}#{anchor}"
    assert cited > 20


def test_no_comment_cites_a_document_outside_the_repository():
    elsewhere = re.compile(
        r"\b(?:DESIGN|FACTS|HIGHLIGHTER|STYLE|HOUSE)(?:\.md\b|,? sections? |:? \d|'s \d|: )"
        r"|\breview of (?:security|reliability|rigour|aesthetics|prolific)"
    )
    for path in [*code_files(), *DOCUMENTS]:
        citation = elsewhere.search(text(path))
        assert not citation, f"{name(path)}: {citation and citation[0]}"


def test_every_file_that_a_document_names_exists():
    named = re.compile(
        r"`((?:annotation|tasks|analysis|tests|templates|static|client|docs|deploy|benchmarks"
        r"|config)/[\w./-]*)`"
    )
    for path in DOCUMENTS:
        for file in named.findall(text(path)):
            assert (ROOT / file).exists(), f"{name(path)}: {file}"


def our_commands() -> set[str]:
    # Compare the parent folder, because an environment in the repository contains other apps.
    ours = {app.name for app in apps.get_app_configs() if Path(app.path).parent == ROOT}
    return {command for command, app in get_commands().items() if app in ours}


def test_every_management_command_is_documented():
    documented = set(re.findall(r"`(\w+)`", OPERATING.split("## Commands")[1].split("\n## ")[0]))
    missing = our_commands() - documented
    assert not missing
    assert {"import_task", "run_jobs", "demo"} <= our_commands()


@pytest.mark.parametrize("command", sorted(our_commands()))
def test_every_command_can_print_its_help(command):
    app = get_commands()[command]
    parser = load_command_class(app, command).create_parser("manage.py", command)
    assert command in parser.format_help()


def test_every_command_in_a_document_exists():
    for path in DOCUMENTS:
        for command in re.findall(r"(?:python |`)manage\.py (\w+)", text(path)):
            assert command in {"help", *get_commands()}, f"{name(path)}: {command}"


def test_every_name_on_the_page_of_papers_exists():
    page = text(ROOT / "docs" / "papers.md")
    ids = [f"C{number}" for number in range(1, 53)] + [f"X{number}" for number in range(1, 35)]
    assert re.findall(r"^\| ([CX]\d+) \|", page, re.M) == ids
    keys = {field.name for field in (*Study._meta.get_fields(), *dataclasses.fields(Card))} | {
        *OPTIONS
    }
    tables = {each.removeprefix("figure-") for each in (*TABLES, *ARM_TABLES)}
    for named in re.findall(r"`([^`]+)`", page):
        command, *options = named.split()
        if named.startswith("/"):
            match = resolve(named)
            assert match.url_name != "api_unknown", named
            assert {*match.kwargs.values()} <= {"NAME", *tables}, named
        elif command in our_commands():
            parser = load_command_class(get_commands()[command], command).create_parser("", command)
            assert {*options} <= {*parser._option_string_actions}, named
        else:
            assert named in {*COLUMNS, *keys} or ("/" in named and (ROOT / named).exists()), named


def settings_read() -> set[str]:
    """Return the environment variables that config/settings.py reads, from its syntax tree."""
    readers = {"env_bool", "env_int", "env_list", "secret", "get"}
    names = set()
    for node in ast.walk(ast.parse((ROOT / "config" / "settings.py").read_text())):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        called = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        if called == "config":  # dj_database_url
            names |= {k.value.value for k in node.keywords if k.arg == "env"}
        elif called in readers and node.args and isinstance(node.args[0], ast.Constant):
            names.add(node.args[0].value)
    return names


def test_every_setting_is_documented_and_no_other():
    section = OPERATING.split("## Settings")[1].split("\n## ")[0]
    documented = re.findall(r"^\| `(\w+)` \|", section, re.M)
    assert sorted(documented) == sorted(settings_read())


def test_the_data_dictionary_is_that_of_the_exports():
    page = runpy.run_path(str(ROOT / "docs" / "dictionary.py"))["page"]
    assert text(ROOT / "docs" / "data-dictionary.md") == page(), "run make dictionary"
    assert not re.search(r"\{\w+\}", page()), "a placeholder that was not filled in"


def test_the_readme_has_at_most_130_lines():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 130


@pytest.mark.parametrize("page", list(documents()))
def test_every_page_of_help_opens(client, db, page):
    reply = client.get(f"/help/{page}")
    assert reply.status_code == 200
    assert "<h1" in reply.content.decode()


@pytest.mark.parametrize("page", list(documents()))
def test_every_link_on_a_page_of_help_has_a_target(client, db, page):
    html = client.get(f"/help/{page}").content.decode()
    article = html.split('<article class="prose')[1].split("</article>")[0]
    for target in re.findall(r'(?:href|src)="([^"]*)"', article):
        if target.startswith("/"):
            assert client.get(target.partition("#")[0]).status_code == 200, target
        else:
            assert target.startswith(("https://", "#")), target


def test_the_drawing_of_the_rooms_matches_the_contracts():
    contracts = tomllib.loads(text(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"]
    packages, annotation, analysis, core = contracts[:4]
    svg = "{http://www.w3.org/2000/svg}"
    drawn = {
        package.attrib["id"]: [
            room.text for room in package.iter(f"{svg}text") if room.attrib["class"] == "room"
        ]
        for package in ElementTree.parse(ROOT / "docs" / "rooms.svg").getroot().iter(f"{svg}g")
    }
    assert list(drawn) == packages["layers"]
    assert drawn["annotation"] == annotation["layers"]
    assert drawn["analysis"] == analysis["layers"]
    pure = {f"tasks.{module}" for room in drawn["tasks"][1:] for module in room.split(" | ")}
    assert pure == set(core["source_modules"])


def test_the_drawing_of_the_rooms_is_served_as_an_inert_picture(client, db):
    assert '<img src="/help/rooms.svg"' in client.get("/help/architecture/").content.decode()
    reply = client.get("/help/rooms.svg")
    assert reply["Content-Type"] == "image/svg+xml"
    assert b"<script" not in b"".join(reply.streaming_content)


@pytest.mark.parametrize(
    "page", ["../README/", "nothing/", "operating.md", "dictionary.py", "%00/"]
)
def test_help_serves_only_the_documents(client, db, page):
    assert client.get(f"/help/{page}").status_code == 404


def test_cron_has_exactly_the_commands_that_must_be_repeated():
    commands = re.findall(r"^[*/\d]+ .*manage\.py ([^#\n]*)", OPERATING, re.M)
    assert sorted(command.strip() for command in commands) == [
        "backup /srv/backups/$(date +\\%F-\\%H\\%M\\%S).handful", "tick",
    ]  # fmt: skip


def test_the_proxy_takes_large_bodies_only_where_files_are_sent():
    (folders,) = re.findall(r"location ~ \^/\((.*)\)/ ", (ROOT / "deploy/nginx.conf").read_text())
    # A demographic export is below the size limit of every address.
    assert LARGEST_EXPORT < 2_500_000
    pages = {address.split("/")[1] for address in TAKE_FILES if "/sample/" not in address}
    assert set(folders.split("|")) == pages | {f"api/v1/{name}" for name in pages}


def test_the_server_lock_has_no_packages_of_benchmarks():
    assert "gunicorn" not in (ROOT / "requirements.lock").read_text()
    assert "gunicorn" in (ROOT / "requirements-dev.lock").read_text()


LOCKS = ("requirements.lock", "requirements-dev.lock", "deploy/requirements.lock")
OF_SUITES = [str(path.relative_to(ROOT)) for path in ROOT.glob("tests/*/requirements.txt")]


def pins_of(lock: str) -> list[str]:
    return re.split(r"\n(?=\S)", (ROOT / lock).read_text().strip())


@pytest.mark.parametrize("lock", [*LOCKS, *OF_SUITES])
def test_every_pin_has_the_hashes_of_its_files(lock):
    """`make pins` writes the hashes, and pip refuses a lock file without them."""
    assert [pin.split()[0] for pin in pins_of(lock) if "--hash=sha256:" not in pin] == []
    assert lock in LOCKS or f"{lock} -o {lock}" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("lock", LOCKS)
def test_a_pin_is_the_same_in_every_lock(lock):
    pins = pins_of(lock)
    everything = (ROOT / "requirements-dev.lock").read_text()
    assert [pin for pin in pins if f"{pin.split()[0]} " not in everything] == []


def test_each_vendored_file_matches_its_listed_hash():
    folder = ROOT / "static" / "vendor"
    listed = dict(
        re.findall(
            r"^\| `([^`]+)` .* `([0-9a-f]{64})` \|$", (folder / "README.md").read_text(), re.M
        )
    )
    files = [*folder.glob("*.js"), *folder.glob("*.css")]
    assert {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files} == listed


def test_every_vendored_file_is_listed_with_its_licence_file():
    folder = ROOT / "static" / "vendor"
    listed = re.findall(
        r"^\| `([^`]+)` \|.*\| `([^`]+)` \|$", (ROOT / "THIRD-PARTY.md").read_text(), re.M
    )
    licences = {licence for _file, licence in listed}
    assert {file for file, _licence in listed} | licences | {"README.md"} == {
        path.name for path in folder.iterdir()
    }


def test_the_version_is_the_same_everywhere():
    newest = re.search(
        r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.M
    )
    citation = (ROOT / "CITATION.cff").read_text()
    assert newest
    assert newest[1] == settings.VERSION
    assert f"\nversion: {newest[1]}\n" in citation
    assert f"\ndate-released: {newest[2]}\n" in citation


def test_an_idiom_is_counted_in_what_is_read_not_in_code():
    english = runpy.run_path(str(ROOT / ".ci" / "english.py"))
    source = '"""Doc."""\nword = 1  # a comment\ndef test_it_holds(): print(f"text {word} more")\n'
    texts = [text for _line, text in english["of_python"](source)]
    assert '"""Doc."""' in texts
    assert "# a comment" in texts
    assert "test it holds" in texts
    assert "word" not in texts


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_no_document_has_the_same_heading_twice(path):
    headings = re.findall(r"^#{1,6} (.+)$", re.sub(r"```.*?```", "", text(path), flags=re.S), re.M)
    if path.name == "CHANGELOG.md":  # each release has the same headings
        return
    assert [each for each in set(headings) if headings.count(each) > 1] == []


def test_no_text_installs_an_unregistered_package_name():
    """`handful` and `handful-server` are not on PyPI, so any user could register them."""
    from_an_index = re.compile(
        r"pip install [^\n]*?(?<![\w./-])handful(-server)?(?!\S* @ )(?![\w./-])"
    )
    sources = [
        *DOCUMENTS,
        *code_files(),
        *(ROOT / "client").rglob("*.py"),
        ROOT / "client/README.md",
    ]
    assert from_an_index.search("pip install 'handful[pandas]'")
    assert from_an_index.search("pip install handful-server")
    assert not from_an_index.search("pip install ./client[pandas]")
    assert [name(path) for path in sources if from_an_index.search(text(path))] == []


def test_the_citation_names_authors_version_and_placeholder():
    citation = (ROOT / "CITATION.cff").read_text()
    assert "name: The Handful developers" in citation
    assert "# A placeholder:" in citation.split("repository-code:")[0].splitlines()[-1]


def test_the_client_readme_names_no_github_repository():
    assert "github.com" not in text(ROOT / "client" / "README.md")


def test_messages_in_the_table_of_refused_answers_exist():
    source = " ".join(
        text(ROOT / f"tasks/{name}") for name in ("answer_errors.toml", "answers/kinds.toml")
    )
    section = text(ROOT / "docs/answers.md").split("## Rejected answers")[1].split("\n## ")[0]
    rows = [line.split("|")[-2] for line in section.splitlines() if line.startswith("| ")][1:]
    said = [part for row in rows for part in re.findall(r"[^.()\[\]:]+(?:\.\d[^.]*)*\.", row)]
    assert len(said) > 10
    for sentence in said:
        known = re.sub(r"“[^”]*”|\d+(\\\.\d+)?", '[^"]+', re.escape(sentence.strip()))
        assert re.search(known, source), sentence

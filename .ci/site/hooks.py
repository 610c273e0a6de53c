"""Hooks of MkDocs: one folder per version, the API's operations, links to the repository."""

import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import django
import yaml
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
REPOSITORY = yaml.safe_load((ROOT / "CITATION.cff").read_text())["repository-code"]
SWAGGER = "drf_spectacular_sidecar/swagger-ui-dist"
OPERATIONS = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>API operations - Handful</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="swagger-ui.css">
<p><a href="index.html">Documentation</a> · <a href="openapi.json">OpenAPI document</a></p>
<div id="operations"></div>
<script src="swagger-ui-bundle.js"></script>
<script>
  SwaggerUIBundle({url: "openapi.json", dom_id: "#operations", supportedSubmitMethods: []})
</script>
</html>
"""


def on_config(config: Any) -> None:
    config.site_dir = str(Path(config.site_dir) / VERSION)


def on_files(files: Files, config: Any) -> None:
    """Add the OpenAPI document, the page that shows it, and the logo."""
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.contrib.staticfiles import finders  # noqa: PLC0415 - needs the settings
    from drf_spectacular.generators import SchemaGenerator  # noqa: PLC0415 - needs the settings

    def add(name: str, content: str) -> None:
        files.append(File.generated(config, name, content=content))

    add("openapi.json", json.dumps(SchemaGenerator().get_schema(public=True)))
    add("openapi.html", OPERATIONS)
    for name in (f"{SWAGGER}/swagger-ui.css", f"{SWAGGER}/swagger-ui-bundle.js", "icon.svg"):
        add(Path(name).name, Path(finders.find(name)).read_text())


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Point links to files outside docs/ at the repository."""
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def absolute(match: re.Match[str]) -> str:
        path, anchor = match[1], match[2] or ""
        target = (folder / path).resolve()
        if target.is_relative_to(ROOT / "docs"):
            return match[0]
        return f"]({REPOSITORY}/blob/main/{target.relative_to(ROOT)}{anchor})"

    return re.sub(r"\]\((\.\./[^)#]*)(#[^)]*)?\)", absolute, markdown)


def on_post_build(config: Any) -> None:
    """List the versions for the selector, and lead the root to this one."""
    site = Path(config.site_dir).parent
    versions = sorted((path.parent.name for path in site.glob("*/404.html")), reverse=True)
    entries = [{"version": version, "title": version, "aliases": []} for version in versions]
    (site / "versions.json").write_text(json.dumps(entries))
    (site / "index.html").write_text(
        f'<!doctype html><meta http-equiv="refresh" content="0; url={VERSION}/index.html">'
    )

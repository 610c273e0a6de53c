"""collectstatic joins imports, so that a page loads one style sheet and one script."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from config.static import joined_scripts, joined_styles

STATIC = Path(settings.BASE_DIR) / "static"
SCRIPTS = {
    "page.js": 'import { add } from "./sums.js";\nimport * as all from "./sums.js";\n'
    'import "./other-page.js";\nconsole.log(add(1, 2), all.ONE);\n',
    "other-page.js": 'import {\n  add,\n} from "./sums.js";\nconst sum = 0;\nadd(1, 2);\n',
    "sums.js": "const sum = (a, b) => a + b;\nexport const ONE = 1;\n"
    "export function add(a, b) {\n  return sum(a, b);\n}\n",
}


def test_a_script_contains_each_imported_script_once_and_in_order():
    assert joined_scripts("page.js", SCRIPTS.__getitem__) == (
        "const module_sums = (() => {\nconst sum = (a, b) => a + b;\nconst ONE = 1;\n"
        "function add(a, b) {\n  return sum(a, b);\n}\n\nreturn { ONE, add };\n})();\n"
        "const module_other_page = (() => {\nconst {\n  add,\n} = module_sums;\nconst sum = 0;\n"
        "add(1, 2);\n\nreturn {  };\n})();\n"
        "const module_page = (() => {\nconst { add } = module_sums;\nconst all = module_sums;\n"
        "const {} = module_other_page;\nconsole.log(add(1, 2), all.ONE);\n\nreturn {  };\n})();\n"
    )


def test_a_script_without_imports_is_unchanged():
    assert joined_scripts("sums.js", SCRIPTS.__getitem__) == SCRIPTS["sums.js"]


def test_a_style_sheet_contains_the_sheets_that_it_imports():
    sheets = {"page.css": '/* all */\n@import "a.css";\n@import "b.css";\n'}
    sheets |= {"a.css": '@import "b.css";\na {}\n', "b.css": "b {}\n"}
    text = joined_styles("page.css", sheets.__getitem__)
    assert text.split() == ["/*", "all", "*/", "b", "{}", "a", "{}", "b", "{}"]


@pytest.mark.parametrize(("kind", "join"), [("js", joined_scripts), ("css", joined_styles)])
def test_no_published_file_imports_another(kind, join):
    paths = sorted((STATIC / kind).glob(f"*.{kind}"))
    assert len(paths) > 20
    for path in paths:
        text = join(path.name, lambda name: (STATIC / kind / name).read_text())
        assert not re.search(r"^@?import ", text, re.M), path.name
        # Inside a function, exports or renamed imports would be errors.
        assert not re.search(r"^export |^const \{[^}]* as ", text, re.M) or "module_" not in text

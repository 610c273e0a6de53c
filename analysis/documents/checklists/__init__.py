"""Checklists of publication venues, filled in from a study's design and results.

`for_study` returns all checklists: of Wei et al. (2025, arXiv 2506.13776), ACL and NeurIPS.
Researchers answer each question only once (short_form.py), even if several forms use the answer.
Statements about the study must come from its frozen design and its stored rows (facts.py), not from
assumptions about what studies are usually like.
"""

import json
from collections.abc import Callable
from itertools import groupby

from analysis.documents.blocks import Entry, Form
from analysis.documents.checklists.facts import Facts
from analysis.documents.checklists.items import for_study as for_study
from analysis.documents.checklists.short_form import QUESTIONS, prose
from analysis.scores.attrition import SAMPLE
from analysis.scores.columns import as_csv, as_records
from analysis.scores.markup import NOT_LATIN, is_latin, latex
from annotation.models import Kind, Study
from annotation.monitoring.sample import about_export

FORMS = tuple(QUESTIONS["forms"])  # names used in URLs and files, in report order


# Export completed forms as LaTeX and JSON, and the sample as CSV and JSON.


def forms_of(study: Study, masked: Callable[[str], str] = str) -> dict[str, Form]:
    """Return an opened study's completed forms. `masked` is applied to text entered by users."""
    stored = study.report_answers.values_list("item", "text")
    return for_study(Facts(study, masked), {item: masked(text) for item, text in stored})


def form_of(study: Study, name: str) -> Form | None:
    return forms_of(study)[name] if name in FORMS else None


def as_latex(form: Form) -> str:
    lines = [f"\\section*{{{latex(form.title)}}}", latex(form.source)]
    parts = QUESTIONS["forms"][form.name].get("parts", {})  # sections by first digit
    for part, entries in groupby(form.entries, key=lambda entry: parts.get(entry.number[0])):
        if part:
            lines.append(f"\\subsection*{{{latex(part)}}}")
        lines += ["\\begin{enumerate}", *(_item(entry) for entry in entries), "\\end{enumerate}"]
    text = "\n".join(lines) + "\n"
    return ("" if is_latin(text) else NOT_LATIN) + text


def _item(entry: Entry) -> str:
    answer = latex(prose(entry.answer))
    answer = f"\\textbf{{{answer}}}" if entry.is_short else answer
    evidence = f" {latex(entry.evidence)}" if entry.evidence else ""
    return f"\\item[{latex(entry.number)}] \\emph{{{latex(entry.title)}.}} {answer}{evidence}"


RECORD_FIELDS = ("number", "title", "reply", "answer", "evidence")


def as_json(form: Form) -> str:
    items = [{name: str(getattr(e, name)) for name in RECORD_FIELDS} for e in form.entries]
    record = {"form": form.name, "title": form.title, "source": form.source, "items": items}
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"


def sample_record(study: Study) -> dict[str, object]:
    rows = as_records(SAMPLE.columns, SAMPLE.rows(study, Kind.PERSON))
    return {"rows": rows, "export": about_export(study), "note": SAMPLE.intro}


def sample_file(study: Study, ext: str) -> str:
    if ext == "csv":
        return as_csv(SAMPLE.columns, SAMPLE.rows(study, Kind.PERSON))
    return json.dumps(sample_record(study), ensure_ascii=False, indent=1) + "\n"

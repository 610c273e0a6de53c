"""Every field of the design appears in the documents that must state it.

For each field of the form, TABLE has a change and the documents that differ because of it. A
field missing from the table fails, so that no new option is forgotten in the documents.
"""

import re
from typing import Any, NamedTuple

import pytest

from analysis.documents import blocks, preregistration, report
from analysis.documents.checklists.facts import Facts
from annotation.models import Study
from annotation.protocol import attention_checks
from annotation.study import consequences, design, design_file, lifecycle
from tasks.models import Task
from tests import factories
from tests.annotation.protocol.test_comprehension import check_file
from tests.annotation.study.test_cross_task import label_task

PLAN, METHODS, REPORT, CHECKLIST = "preregistration", "methods", "report", "checklist"
# Sets of documents that many fields change.
EVERY = {PLAN, METHODS, REPORT, CHECKLIST}
STEPS = {PLAN, METHODS, CHECKLIST}
OPTION = {PLAN, METHODS}


class Row(NamedTuple):
    """What a field is changed to, the documents that differ, and the design before the change.

    `tasks` are the study's tasks, or its unseen tasks, by their number in the fixture.
    """

    after: dict[str, Any]
    documents: set[str]
    before: dict[str, Any] = {}
    tasks: tuple[int, ...] = (0, 1)


class Keys(NamedTuple):
    """The same for keys of the manifest that the form in this test can't set."""

    after: dict[str, Any]
    documents: set[str]
    before: dict[str, Any] = {}


class Arms(NamedTuple):
    """The same for a field of a cross-task study."""

    after: dict[str, Any]
    documents: set[str]


RULE = {"qualification": "minimum", "qualification_threshold": 40}
ASKED = {"comprehension_questions": "What is wanted?\n* places\n- people"}
LEAK = f"toy-places: 1 of the training examples of a.jsonl {consequences.ALSO_IN_TEST}"
TABLE: dict[str, Row | Keys | Arms] = {
    "name": Row({"name": "another-name"}, {PLAN, REPORT}),
    "title": Row({"title": "Another title"}, {PLAN, REPORT}),
    "tasks": Row({"tasks": (0,)}, EVERY),
    "shots": Row({"shots": [0, 2, 4]}, EVERY),
    "splits": Row({"splits": [1, 2]}, EVERY),
    "annotators": Row({"annotators": 5}, {PLAN, METHODS, CHECKLIST}),
    "training_order": Row({"training_order": "file_order"}, STEPS),
    "annotation_order": Row({"annotation_order": "file_order"}, STEPS),
    "shuffles_options": Row({"shuffles_options": True}, OPTION),
    "seed": Row({"seed": 8}, {PLAN, REPORT, CHECKLIST}),
    "tasks_per_worker": Row({"tasks_per_worker": 2}, {PLAN, METHODS, REPORT}),
    "help_examples_at_zero_shots": Row({"help_examples_at_zero_shots": True}, STEPS),
    "try_the_tool": Row({"try_the_tool": False}, OPTION),
    "auto_advance": Row({"auto_advance": True}, OPTION),
    "refuse_pastes": Row({"refuse_pastes": True}, OPTION),
    "refuse_copies": Row({"refuse_copies": True}, STEPS),
    "interface_language": Row({"interface_language": "de"}, OPTION),
    "hourly_rate": Row({"hourly_rate": 13}, EVERY),
    "currency": Row({"currency": "EUR"}, EVERY),
    "base_reward": Row({"base_reward": 2}, EVERY),
    "minimum_pay": Row({"minimum_pay": 1}, EVERY),
    "max_paid_hours": Row({"max_paid_hours": 2}, EVERY),
    "budget": Row({"budget": 700}, EVERY),
    "estimated_minutes": Row({"estimated_minutes": 50}, OPTION),
    "task_minutes": Row({"task_minutes": "toy-labels: 90"}, OPTION),
    "idle_limit_hours": Row({"idle_limit_hours": 9}, OPTION),
    "idle_cutoff_seconds": Row({"idle_cutoff_seconds": 90}, {PLAN, REPORT, CHECKLIST}),
    "computer_only": Row({"computer_only": True}, OPTION),
    "comprehension_questions": Row(ASKED, STEPS),
    "comprehension_attempts": Row({"comprehension_attempts": 3}, OPTION, ASKED),
    "qualification": Row({"qualification": "points_below"}, STEPS, RULE),
    "qualification_threshold": Row({"qualification_threshold": 50}, STEPS, RULE),
    "screening_examples": Row({"screening_examples": 1}, EVERY, RULE),
    "anchor_examples": Row({"anchor_examples": 1}, STEPS),
    "adjusts_for_anchors": Row(
        {"adjusts_for_anchors": True}, OPTION | {REPORT}, {"anchor_examples": 1}
    ),
    "context_free_annotators": Keys({"context_free_annotators": 1}, STEPS),
    "confidence_share": Row({"confidence_share": 0.5}, STEPS),
    "asks_reasons": Row({"asks_reasons": True}, STEPS, {"confidence_share": 0.5}),
    "max_screen_outs_in_a_row": Row({"max_screen_outs_in_a_row": 3}, {PLAN}, RULE),
    "decision_minutes": Row({"decision_minutes": 30}, STEPS, {"qualification": "researcher"}),
    "attention_checks": Row({"attention_checks": 1}, STEPS, tasks=(0,)),
    "exit_questionnaire": Row({"exit_questionnaire": True}, STEPS),
    "consent_text": Row({"consent_text": "Be kind."}, {PLAN}),
    "hypotheses": Row({"hypotheses": "It helps."}, {PLAN, REPORT}),
    # The methods state it only with differences: see test_true_documents.py.
    "equivalence_margin": Row({"equivalence_margin": 4}, {PLAN}),
    "metrics": Row({"metrics": ["ACC"]}, OPTION),
    "rehearsal": Row({"rehearsal": True}, OPTION),
    "hide_test_scores": Row({"hide_test_scores": True}, OPTION),
    "accepts_leakage": Keys({"accepts_leakage": True}, {PLAN, REPORT}, {"data_warnings": [LEAK]}),
    "ethics_contact": Row({"ethics_contact": "Board 7"}, {PLAN, REPORT, CHECKLIST}),
    "own_questions": Row({"own_questions": "age, before, number: How old are you?"}, EVERY),
    "upstream_tasks": Arms({"upstream": (2, 3, 4)}, OPTION),
    "sham_task": Arms({"sham": 6}, OPTION),
    "upstream_examples": Arms({"upstream_examples": 2}, OPTION),
    "arms": Arms(
        {"arms": [{"name": "dose-1"}, {"name": "dose-2", "examples": 2}]}, OPTION | {REPORT}
    ),
    "partition": Keys(
        {"cross_task": {"pools": [], "upstream_examples": 2, "partition": "random"}}, OPTION,
        {"cross_task": {"pools": [], "upstream_examples": 2, "partition": ""}},
    ),
    # A manifest may lack these keys, which means the default.
    "programs_as_people": Keys({"programs_as_people": True}, OPTION),
    # The report depends on the studies created on Prolific: see test_true_documents.py.
    "participants_choose_scenario": Keys({"participants_choose_scenario": True}, {PLAN}),
    "prolific_reward": Row({"prolific_reward": "longest"}, {PLAN}),
    "audience": Keys({"audience": {"countries": ["GB"]}}, OPTION),
}  # fmt: skip


@pytest.fixture(scope="module")
def tasks(module_researcher, tmp_path_factory) -> list[int]:
    """Keys of a span task with attention checks, a label task, and five more for the arms."""
    sizes: dict[str, Any] = {"shots": (2, 4, 8), "splits": 2}
    spans = factories.make_task(**sizes)
    attention_checks.import_checks(spans, check_file(tmp_path_factory.mktemp("checks")))
    labels = factories.make_task(name="toy-labels", labels=factories.LABELS, **sizes)
    others = [label_task(f"other-{letter}") for letter in "abcdefg"]
    return [task.pk for task in (spans, labels, *others)]


@pytest.fixture
def documents_of(db, researcher, tasks, settings):
    """Return a function that opens a design with a row's changes and returns its documents."""
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch")]
    named = [Task.objects.get(pk=pk) for pk in tasks]

    def ordinary(fields: dict[str, Any], chosen: tuple[int, ...]) -> Study:
        fixed = {"shots": [0, 2], "max_paid_hours": 3, "budget": 900, "title": "A study"}
        numbers = fields.pop("tasks", chosen)
        return factories.make_study(
            researcher, *[named[number] for number in numbers], **(fixed | fields)
        )

    def cross_task(fields: dict[str, Any]) -> Study:
        upstream, sham = fields.pop("upstream", (2, 3)), fields.pop("sham", 5)
        study = Study(
            owner=researcher, name="cross", title="A study", shots=[8], annotators=2, seed=7,
            max_paid_hours=2, budget=900, estimated_minutes=10, hide_test_scores=False,
            sham_task=named[sham], **({"upstream_examples": 1} | fields),
        )  # fmt: skip
        design.save_draft(study, [named[7]], upstream=[named[number] for number in upstream])
        lifecycle.change_status(study, "open")
        return study

    def make(row: Row | Keys | Arms, is_changed: bool) -> dict[str, str]:
        after = dict(row.after) if is_changed else {}
        if isinstance(row, Keys):
            return documents(ordinary({"name": "a-name"}, (0, 1)), row.before | after)
        if isinstance(row, Arms):
            return documents(cross_task(after), {})
        return documents(ordinary({"name": "a-name"} | row.before | after, row.tasks), {})

    return make


def documents(study: Study, keys: dict[str, Any]) -> dict[str, str]:
    """Return the documents of a study without participants, omitting its hash and times.

    `keys` override keys of the manifest. Methods and checklist are separate from the report.
    """
    record = Facts(study)
    record.manifest |= keys
    opening = preregistration.Opening("", study.opened_at, 1, 0)
    whole = report.document(record, {})
    parts: dict[str, list[blocks.Section]] = {METHODS: [], CHECKLIST: [], REPORT: []}
    for section in whole.sections:
        name = section.title.split()[0].lower()
        parts[name if name in parts else REPORT].append(section)
    made = {name: blocks.Document("", sections) for name, sections in parts.items()}
    made[REPORT] = blocks.Document(whole.title, parts[REPORT], whole.front)
    made[PLAN] = preregistration.document(record.manifest, opening)
    return {name: _without_marks(study, blocks.as_markdown(each)) for name, each in made.items()}


def _without_marks(study: Study, text: str) -> str:
    text = text.replace(study.manifest_hash, "HASH").replace(study.manifest_hash[:12], "HASH")
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "TIME", text)
    return re.sub(r"opened earlier: \d+", "opened earlier", text)


@pytest.fixture(scope="module")
def unchanged() -> dict[str, dict[str, str]]:
    """Documents before a change, which many rows share."""
    return {}


@pytest.mark.long
@pytest.mark.parametrize("name", TABLE)
def test_a_design_field_changes_the_documents_that_state_it(documents_of, unchanged, name):
    row = TABLE[name]
    start = repr((type(row), *row[2:]))
    before = unchanged.get(start) or unchanged.setdefault(start, documents_of(row, False))
    Study.objects.update(name="")  # frees the name for the second study
    after = documents_of(row, True)
    changed = {document for document, text in before.items() if after[document] != text}
    # The checklist may repeat what the other documents say.
    assert changed - {CHECKLIST} == row.documents - {CHECKLIST}
    assert changed >= row.documents


def test_the_table_has_every_field_of_the_design():
    assert set(design_file.FORM_FIELDS) <= set(TABLE)


def test_the_preregistration_states_every_field():
    assert not [name for name, row in TABLE.items() if PLAN not in row.documents]

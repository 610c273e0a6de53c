"""`create_study --design` reads a whole design from a TOML file."""

import json

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.models import Study
from tests import factories

# Every key, with a value that differs from the default.
WHOLE = """
name = "whole"
title = "The whole design"
tasks = ["toy-places"]
shots = [0, 2]
annotators = 4
splits = [2]
training_order = "file_order"
annotation_order = "contexts_together"
seed = 11
tasks_per_worker = 1
help_examples_at_zero_shots = true
try_the_tool = false
auto_advance = true
interface_language = "en"
hourly_rate = "9.50"
currency = "GBP"
estimated_minutes = 20
idle_limit_hours = 24
comprehension_questions = "What is asked?\\n* places\\n- times"
comprehension_attempts = 3
max_screen_outs_in_a_row = 4
attention_checks = 0
exit_questionnaire = true
computer_only = true
consent_text = "Please take part."

[pay]
base_reward = "1.50"
minimum_pay = 1
max_paid_hours = 2.5
budget = "500.00"
idle_cutoff_seconds = 90

[qualification]
rule = "minimum"
threshold = 60
decision_minutes = 30
screening_examples = 2
"""


@pytest.fixture
def task(db):
    return factories.make_task(splits=2)


@pytest.fixture
def create(researcher, task, tmp_path):
    """Return a function that runs the command on a file with this text."""

    def run(text: str, *flags: str) -> None:
        file = tmp_path / "design.toml"
        file.write_text(text)
        call_command("create_study", "--design", str(file), *flags)

    return run


def test_a_byte_order_mark_before_a_design_is_ignored(create):
    create('\ufeffname = "pilot"\ntasks = ["toy-places"]\nshots = [2]\n')
    assert Study.objects.get().name == "pilot"


@pytest.mark.parametrize("text", ["x=" + "[" * 100_000, "name = " + "9" * 5000])
def test_unterminated_toml_is_an_error(create, text):
    with pytest.raises(CommandError, match="not valid TOML"):
        create(text)


def test_the_example_of_the_documents_is_accepted(create):
    page = (settings.BASE_DIR / "docs/researchers/designs.md").read_text()
    (example,) = [block for block in page.split("```") if "[qualification]" in block]
    create(example.replace("SST-2", "toy-places").replace("[0, 10]", "[0, 2]"))
    assert Study.objects.get().qualification == "minimum"


def test_the_manifest_has_the_values_of_the_file(create):
    create(WHOLE, "--open")
    study = Study.objects.get()
    manifest = json.loads(study.manifest)
    assert [(s["shots"], s["split"], s["seats"]) for s in manifest["scenarios"]] == [
        (0, None, 4),
        (2, 2, 4),
    ]
    assert manifest["pay"].pop("cap") == "23.75"
    assert manifest["pay"].pop("active_time") == "sum of min(gap, 90 s) between signs of work"
    assert manifest["pay"] == {
        "base_reward": "1.50", "minimum_pay": "1.00", "max_paid_hours": "2.5", "budget": "500.00",
    }  # fmt: skip
    rule = {name: manifest["qualification"][name] for name in ("rule", "threshold")}
    assert rule == {"rule": "minimum", "threshold": 60.0}
    assert manifest["qualification"]["decision_minutes"] == 30
    assert manifest["qualification"]["screening_examples"] == 2
    plain = {
        "title": "The whole design", "training_order": "file_order", "seed": 11,
        "annotation_order": "contexts_together", "tasks_per_worker": 1, "hourly_rate": "9.50",
        "help_examples_at_zero_shots": True, "currency": "GBP", "estimated_minutes": 20,
        "auto_advance": True, "try_the_tool": False, "interface_language": "en",
        "idle_limit_hours": 24, "comprehension_attempts": 3, "max_screen_outs_in_a_row": 4,
        "comprehension_questions": "What is asked?\n* places\n- times", "attention_checks": 0,
        "exit_questionnaire": True, "computer_only": True, "consent_text": "Please take part.",
    }  # fmt: skip
    assert {name: manifest[name] for name in plain} == plain


def test_tasks_can_be_tables_in_the_file_as_in_the_manifest(create, task):
    tables = f'[[tasks]]\nname = "{task.name}"\nversion = {task.version}\n'
    create(f'name = "tables"\nshots = [0]\n{tables}')
    assert list(Study.objects.get().tasks.all()) == [task]


def test_a_command_line_option_overrides_the_file(create):
    create(WHOLE, "--annotators", "2", "--hourly-rate", "10")
    study = Study.objects.get()
    assert (study.annotators, study.hourly_rate, study.currency) == (2, 10, "GBP")


def test_an_empty_text_means_no_value(create):
    create(WHOLE.replace("in_a_row = 4", 'in_a_row = ""'))
    assert Study.objects.get().max_screen_outs_in_a_row is None


@pytest.mark.parametrize(
    ("line", "key", "reason"),
    [
        ("seats = 3", "seats", "unknown key. Known keys: tasks, title"),
        ("annotators = true", "annotators", "expected a whole number"),
        ("annotators = 2.5", "annotators", "expected a whole number"),
        ("annotators = 0", "annotators", "greater than or equal to 1"),
        ('computer_only = "yes"', "computer_only", "expected true or false"),
        ("title = 7", "title", "expected a text"),
        ('shots = "0 2"', "shots", "expected a list of whole numbers"),
        ("shots = [3]", "shots", "no training split of 3"),
        ("splits = [[1]]", "splits", "expected a list of whole numbers"),
        ('title = ""', "title", "cannot be blank"),
        ("[cross_task]\nupstream_tasks = 7", "cross_task.upstream_tasks", "a list of names"),
        ("[cross_task]\nsham_task = 7", "cross_task.sham_task", "expected names, such as MNLI"),
        ('hourly_rate = "1e3"', "hourly_rate", "expected an amount"),
        ("hourly_rate = true", "hourly_rate", "expected an amount"),
        ("tasks = [7]", "tasks", "expected names, such as MNLI"),
        ('pay = "much"', "pay", r"expected a table, \[pay\]"),
        ("[pay]\ncap = 7", "pay.cap", "unknown key"),
        ("[pay]\nidle_cutoff_seconds = 5", "pay.idle_cutoff_seconds", "10"),
        ('[qualification]\nrule = "luck"', "qualification.rule", "not a valid choice"),
        ('[qualification]\nrule = "minimum"', "qualification.threshold", "needs a threshold"),
    ],
)
def test_an_error_names_the_file_and_the_key(create, line, key, reason):
    lines = {"name": '"pilot"', "tasks": '["toy-places"]', "shots": "[2]"}
    lines.pop(line.split(" = ")[0], None)
    text = "\n".join(f"{name} = {value}" for name, value in lines.items())
    with pytest.raises(CommandError, match=rf"design\.toml: {key}: .*{reason}"):
        create(f"{text}\n{line}\n")
    assert not Study.objects.exists()


@pytest.mark.parametrize("text", ["shots = [", "\x00"])
def test_a_file_that_is_not_toml_is_reported(create, text):
    with pytest.raises(CommandError, match=r"design\.toml: not valid TOML"):
        create(text)


def test_a_missing_name_or_missing_shots_are_reported(create):
    with pytest.raises(CommandError, match="Set NAME, or name"):
        create("shots = [2]")
    with pytest.raises(CommandError, match="Set --shots, or shots"):
        create('name = "pilot"')

"""The landing page states a seat's workload; implausible promised minutes cause a warning."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Study
from annotation.study import minutes
from tests import factories
from tests.conftest import CLUES

pytestmark = pytest.mark.django_db


def create(name: str, *options: str) -> tuple[str, str]:
    """Run `create_study`; return its output and its warnings."""
    out, err = StringIO(), StringIO()
    call_command("create_study", name, *options, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.mark.real_data
def test_an_implausible_promised_time_is_warned_about(researcher):
    call_command("import_clues", str(CLUES), "--task", "CoNLL03", stdout=StringIO())
    out, err = create(
        "ner", "--tasks", "CoNLL03", "--shots", "10", "--estimated-minutes", "20", "--seed", "1"
    )
    assert "Study ner: draft" in out
    assert err.startswith("Warning: 20 minutes are promised, but CoNLL03 at 10 shots has ")
    assert "600 test examples" in err
    load = minutes.workloads(Study.objects.get(), list(Study.objects.get().tasks.all()))[0]
    assert f"{1200 / load.examples:.1f} seconds each" in err
    assert f"about {load.minutes} minutes" in err


@pytest.mark.long
def test_a_plausible_promise_is_not_warned_about(researcher):
    factories.make_task(test_size=100)
    _out, err = create("fits", "--tasks", "toy-places", "--shots", "2", "--estimated-minutes", "12")
    assert err == ""


def test_too_many_promised_hours_are_warned_about(researcher):
    factories.make_task(test_size=4)
    minutes = ("--estimated-minutes", "600")
    _out, err = create("long", "--tasks", "toy-places", "--shots", "2", *minutes)
    assert "600 minutes are promised, but toy-places at 2 shots has 2 training and 4 test" in err


@pytest.mark.long
def test_only_a_draft_warns_about_the_promised_time(ada, researcher):
    study = factories.make_study(
        researcher, factories.make_task(test_size=400), status="draft", estimated_minutes=5
    )
    page = ada.get(reverse("study", args=[study.name])).content.decode()
    assert "Check the estimated time." in page
    assert "5 minutes are promised, but toy-places at 2 shots has 2 training and 400 test" in page
    opened = factories.make_study(researcher, study.tasks.get(), estimated_minutes=5)
    assert "promised" not in ada.get(reverse("study", args=[opened.name])).content.decode()


def test_attention_checks_count_as_examples_in_three_queries(
    researcher, django_assert_max_num_queries
):
    task = factories.make_task(test_size=4)
    study = factories.make_study(researcher, task, shots=[0, 2])
    study.attention_checks = 3
    with django_assert_max_num_queries(3):
        loads = minutes.workloads(study, [task])
        assert [(load.training, load.test) for load in loads] == [(0, 7), (2, 7)]
        assert {load.words for load in loads} == {12}

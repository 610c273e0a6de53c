"""Designs that would exclude every participant are refused, and restrictions are reported."""

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from annotation.recruitment import eligibility
from annotation.study import design, lifecycle
from tasks.formats import Record
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def task(db):
    return factories.make_task()


@pytest.fixture
def study(researcher, task):
    return factories.make_study(researcher, task)


def add(ada, study, **entry):
    return ada.post(reverse("lists", args=[study.name]), {"effect": "allow", **entry})


def refused(reply) -> str:
    assert reply.status_code == 422
    return reply.context["sent"].errors["value"][0]


def test_a_rule_requiring_the_only_task_is_refused(ada, study, task):
    said = refused(add(ada, study, criterion="task", value=task.name))
    assert "no task can be done twice" in said
    assert not study.access_rules.exists()
    two = factories.make_study(study.owner, task, factories.make_task(name="another"))
    assert add(ada, two, criterion="task", value=task.name).status_code == 302


def test_a_rule_requiring_a_study_of_the_same_task_is_refused(ada, study, task, researcher):
    same = factories.make_study(researcher, task)
    assert "no task can be done twice" in refused(
        add(ada, study, criterion="study", value=same.name)
    )


def test_a_rule_requiring_a_study_without_passes_is_refused(ada, study, researcher):
    other = factories.make_study(researcher, factories.make_task(name="another"))
    lifecycle.change_status(other, "close")
    assert (
        "no annotator qualified in"
        in refused(add(ada, study, criterion="study", value=other.name)).lower()
    )


@pytest.mark.long
@pytest.mark.parametrize(("effect", "reason"), [("allow", "contradicts"), ("deny", "same entry")])
def test_a_task_cannot_be_both_required_and_excluded(ada, study, effect, reason):
    factories.make_task(name="another")
    assert add(ada, study, effect="deny", criterion="task", value="another").status_code == 302
    said = refused(add(ada, study, effect=effect, criterion="task", value="another"))
    assert reason in said
    assert study.access_rules.count() == 1


def test_no_id_can_be_on_both_lists(ada, study):
    listed = {"criterion": "people", "platform": "prolific"}
    assert add(ada, study, effect="deny", value="a1\na2", **listed).status_code == 302
    said = refused(add(ada, study, value="a2\na3", **listed))
    assert said.startswith("1 of these ids is on a list with the opposite effect")
    assert add(ada, study, value="a3", **listed).status_code == 302


def test_a_draft_whose_rules_admit_no_annotator_does_not_open(ada, researcher, task):
    other = factories.make_task(name="another")
    draft = factories.make_study(researcher, task, other, status="draft", hourly_rate=0)
    eligibility.add_rule(draft, "allow", "task", task.name, researcher)
    design.save_draft(draft, [task])
    reply = ada.post(reverse("study_status", args=[draft.name]), factories.opening(draft))
    assert reply.status_code == 409
    assert "End the access rule" in reply.content.decode()


def test_a_rule_requiring_a_deleted_study_is_named(ada, researcher, task):
    options = {"shots": [2], "status": "draft"}
    draft = factories.make_study(researcher, task, **options)
    source = factories.make_study(researcher, factories.make_task(name="o"), **options)
    eligibility.add_rule(draft, "allow", "study", source.name, researcher)
    ada.post(reverse("study_delete", args=[source.name]))
    page = ada.get(reverse("study", args=[draft.name])).content.decode()
    assert f"the study {source.name} no longer exists" in page
    reply = ada.post(reverse("study_status", args=[draft.name]), factories.opening(draft))
    assert reply.status_code == 409


def test_an_unreachable_minimum_is_refused_at_its_field(researcher):
    """Two of the four golds don't occur in their text, so they can't be highlighted."""
    records = [
        Record(id=str(n), context=(f"Text number {n} about Oslo.",), question="Which place?",
               gold=(("Oslo",) if n % 2 else ("Bergen",)))
        for n in range(4)
    ]  # fmt: skip
    task = factories.make_task(train={4: records}, shots=(4,))
    rule = {"shots": [4], "qualification": "minimum"}
    with pytest.raises(ValidationError) as error:
        factories.make_study(researcher, task, **rule, qualification_threshold=60)
    assert "The highest mean S1 is 50.0" in error.value.message_dict["qualification_threshold"][0]
    factories.make_study(researcher, task, **rule, qualification_threshold=50)


@pytest.mark.long
def test_the_overview_states_the_restrictions_of_a_study(ada, researcher, task):
    free = factories.make_study(researcher, task)
    assert "Eligibility" not in ada.get(reverse("study", args=[free.name])).content.decode()
    factories.make_task(name="another")
    study = factories.make_study(researcher, task, computer_only=True)
    eligibility.add_rule(study, "deny", "task", "another", researcher)
    page = " ".join(ada.get(reverse("study", args=[study.name])).content.decode().split())
    told = "exclude annotators who have seen the task: another; computers only, not phones."
    assert told in page

"""The equivalence margin is an optional number of points, frozen with the design."""

import json

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from django.urls import reverse

from annotation.models import Study
from tests import factories


@pytest.mark.parametrize("margin", [0, -3, 101, float("nan"), float("inf")])
def test_a_margin_that_is_not_a_number_of_points_is_refused(researcher, margin):
    with pytest.raises(ValidationError) as refused:
        factories.make_study(researcher, factories.make_task(), equivalence_margin=margin)
    assert list(refused.value.message_dict) == ["equivalence_margin"]


@pytest.mark.engines
def test_the_database_refuses_a_margin_of_zero(researcher):
    study = factories.make_study(researcher, factories.make_task(), status="draft")
    stored = Study.objects.filter(pk=study.pk)
    for margin in (None, 0.1, 5):  # the controls
        stored.update(options=study.options | {"equivalence_margin": margin})
    with pytest.raises(IntegrityError, match="an_equivalence_margin_is_some_points"):
        stored.update(options=study.options | {"equivalence_margin": 0})


def test_a_margin_is_set_by_command_line_or_file(researcher, tmp_path):
    task = factories.make_task()
    call_command(
        "create_study", "one", tasks=[task.name], shots=[0], equivalence_margin=2.5, open=True
    )
    assert json.loads(Study.objects.get(name="one").manifest)["equivalence_margin"] == 2.5
    design = 'name = "two"\ntasks = ["toy-places"]\nshots = [0]\nequivalence_margin = '
    (tmp_path / "two.toml").write_text(f"{design}3\n")
    call_command("create_study", design=tmp_path / "two.toml")
    assert Study.objects.get(name="two").equivalence_margin == 3
    (tmp_path / "three.toml").write_text(f"{design}nan\n".replace("two", "three"))
    with pytest.raises(CommandError, match="equivalence_margin"):
        call_command("create_study", design=tmp_path / "three.toml")


def test_the_form_of_a_draft_has_the_margin(ada, researcher):
    study = factories.make_study(researcher, factories.make_task(), status="draft")
    page = ada.get(reverse("study_design", args=[study.name])).content.decode()
    assert 'name="equivalence_margin"' in page

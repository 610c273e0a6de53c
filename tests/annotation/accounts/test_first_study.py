"""The four steps of a first study, which new researchers see until they finish or skip them."""

import pytest
from django.urls import reverse
from lxml.html import fromstring

from annotation.models import Study
from tasks.models import Task
from tests import factories


def states(browser) -> list[bool]:
    return [step["is_done"] for step in browser.get(reverse("studies")).context["first_study"]]


def press(browser, action: str):
    return browser.post(reverse("first_study"), {"action": action}, follow=True)


@pytest.mark.parametrize("times", [1, 2])
def test_the_sample_task_is_imported_once_by_a_button(ada, researcher, times):
    assert states(ada) == [False] * 4
    for _ in range(times):
        press(ada, "import")
    task = Task.objects.get()
    assert (task.name, task.imported_by) == ("demo-sentiment", researcher)
    assert states(ada) == [True, False, False, False]
    shown = ada.get(reverse("studies")).content.decode()
    assert f'href="{reverse("study_new")}?task=demo-sentiment"' in shown


def test_only_the_next_step_has_a_primary_button(ada, researcher):
    def primary() -> list[str]:
        page = fromstring(ada.get(reverse("studies")).content)
        buttons = page.xpath("//main//*[self::button or @role='button']")
        return [each.text for each in buttons if "secondary" not in each.get("class", "")]

    def next_step() -> str:
        page = fromstring(ada.get(reverse("studies")).content)
        titles = page.xpath("//section[@class='first-study']//li[not(@class)]//strong")
        return titles[0].text

    assert (primary(), next_step()) == (["Import the task"], "Import the sample task")
    press(ada, "import")
    assert (primary(), next_step()) == (["Start"], "Create a study")
    factories.make_study(researcher, Task.objects.get(), shots=[0], status="draft")
    assert (primary(), next_step()) == (["Start"], "Rehearse with simulated annotators")


@pytest.mark.long
def test_each_step_is_done_once_its_rows_exist(ada, researcher):
    press(ada, "import")
    task = Task.objects.get()
    factories.make_study(researcher, task, shots=[0], annotators=1, status="draft")
    assert states(ada) == [True, True, False, False]
    tried = factories.make_study(researcher, task, shots=[0], name="tried", rehearsal=True)
    assert states(ada) == [True, True, False, False]
    factories.work_through(factories.seat(tried.scenarios.get(), kind="simulated"))
    assert states(ada) == [True, True, True, False]
    factories.make_study(researcher, task, shots=[0], name="opened")
    assert states(ada) == []  # no steps are left to show


def test_studies_of_others_do_not_count_as_a_first_study(ada, other_researcher):
    task = factories.make_task()
    factories.make_study(other_researcher, task)
    assert states(ada) == [True, False, False, False]


def test_the_steps_can_be_hidden_and_shown_again(ada):
    assert "Your first study" in ada.get(reverse("studies")).content.decode()
    assert "Your first study" not in press(ada, "skip").content.decode()
    assert "Show steps" in ada.get(reverse("your_account")).content.decode()
    assert "Your first study" in press(ada, "show").content.decode()
    assert "Show steps" not in ada.get(reverse("your_account")).content.decode()


def test_viewing_the_steps_creates_nothing(ada):
    ada.get(reverse("studies"))
    assert not Task.objects.exists()
    assert not Study.objects.exists()
    assert ada.get(reverse("first_study")).status_code in (302, 405)
    assert press(ada, "something else").status_code == 200
    assert not Task.objects.exists()


def test_pages_without_a_task_link_to_adding_one(ada):
    for page in ("studies", "tasks", "study_new"):
        add = f'href="{reverse("task_add")}"'
        assert add in ada.get(reverse(page)).content.decode(), page

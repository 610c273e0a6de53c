"""The forms of the Few-shot Gym: its files; which tasks, how they are answered and tested."""

import secrets
from typing import Any

from django import forms

from annotation.pages.fields import PageForm, WholeNumberField
from tasks.gym.catalogue import partitions
from tasks.gym.making import Sample


class _Many(forms.ClearableFileInput):
    allow_multiple_selected = True


class _FilesField(forms.FileField):
    """Any number of files."""

    widget = _Many

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        return [super(_FilesField, self).clean(file, initial) for file in data or ()]


class GymForm(PageForm):
    """A ZIP, or the files of a folder; `files` are those of both."""

    key = "gym"
    archive = forms.FileField(
        label="A ZIP",
        required=False,
        widget=forms.ClearableFileInput({"accept": ".zip"}),
        help_text="Of folders NAME with NAME_K_SEED_train.tsv, ..._dev.tsv, ..._test.tsv.",
    )
    folder = _FilesField(
        label="Or the folder itself",
        required=False,
        widget=_Many({"multiple": True, "webkitdirectory": True}),
    )

    partition = forms.ChoiceField(
        label="Tasks",
        required=False,
        choices=[("", "All"), *((name, f"Those of {name}") for name in sorted(partitions()))],
        help_text="The published partitions say which tasks are trained on and which held out.",
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        archive = cleaned.get("archive")
        self.sent = [*([archive] if archive else []), *cleaned.get("folder", ())]
        if not self.sent and not self.errors:
            self.add_error("archive", "Choose a ZIP or a folder that is not empty.")
        return cleaned


class GymTasksForm(PageForm):
    """For each task whether it is imported and how it is answered; the sample of the tests."""

    key = "tasks"
    test = WholeNumberField(
        label="Test examples of each task",
        min_value=1,
        max_value=100_000,
        required=False,
        help_text="Empty: all. Else a simple random sample; models are scored on the same ones.",
    )
    seed = WholeNumberField(label="Seed of the sample", min_value=0, max_value=2**63 - 1)

    def __init__(self, tasks: list[dict[str, Any]], *args: Any, **kwargs: Any):
        super().__init__(*args, initial={"seed": secrets.randbelow(2**31)}, **kwargs)
        self.tasks = tasks
        for task in tasks:
            # What cannot be chosen now is said by its name when it is shown.
            choices = [(kind, kind) for kind in task["possible"]]
            known = task["kind"] in task["possible"]
            if not known:
                choices = [("", f"{task['kind']}: cannot be imported"), *choices]
            self.fields[f"take-{task['name']}"] = forms.BooleanField(
                label="Import", required=False, initial=known
            )
            self.fields[f"kind-{task['name']}"] = forms.ChoiceField(
                label=f"How {task['name']} is answered",
                choices=choices,
                required=False,
                initial=task["kind"] if known else "",
            )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.errors:
            wanted = [task["name"] for task in self.tasks if cleaned[f"take-{task['name']}"]]
            cleaned["kinds"] = {name: cleaned[f"kind-{name}"] for name in wanted}
            if not wanted:
                raise forms.ValidationError("Choose at least one task.")
            for name, kind in cleaned["kinds"].items():
                if not kind:
                    self.add_error(f"kind-{name}", f"{name}: choose how it is answered.")
        return cleaned

    @property
    def sample(self) -> Sample | None:
        """Of what was sent and is right."""
        size = self.cleaned_data["test"]
        return Sample(size, self.cleaned_data["seed"]) if size else None

    @property
    def rows(self) -> list[tuple[dict[str, Any], forms.BoundField, forms.BoundField]]:
        """Each task with its two fields."""
        return [
            (task, self[f"take-{task['name']}"], self[f"kind-{task['name']}"])
            for task in self.tasks
        ]

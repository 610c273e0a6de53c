"""The study form, which cleans and converts values. The rules are in design.py."""

import re
from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Case, DecimalField, IntegerField, Q, QuerySet, When

from annotation.models import OPTIONS, ProlificReward, Study
from annotation.models.options import default_consent
from annotation.pay import promises
from annotation.study import audience, consequences, design, design_file, minutes
from annotation.study.consequences import Consequences
from annotation.web.fields import AmountField, RowsField, TextField, WholeNumberField, row_field
from tasks.cards import FAMILIES, TASKS
from tasks.gym import catalogue
from tasks.metrics import METRICS
from tasks.models import Task


def partitions() -> list[tuple[str, str]]:
    offers = map(catalogue.offer, catalogue.partitions().values())
    return [
        ("", "none"),
        *(
            (
                offer.name,
                f"{offer.name}: {len(offer.upstream)} upstream and {len(offer.held_out)} unseen"
                " tasks are suitable for humans",
            )
            for offer in offers
        ),
    ]


def form_field(field: Any, **kwargs: Any) -> Any:
    """Return the form field for a model field. Numbers are written in ASCII digits."""
    if isinstance(field, IntegerField | DecimalField):
        kwargs["form_class"] = AmountField if isinstance(field, DecimalField) else WholeNumberField
    return field.formfield(**kwargs)


ARM = re.compile(r"\s*([^:]+?)\s*:\s*([0-9]{0,4})\s*(?::\s*(.*?))?\s*")


class ArmsField(TextField):
    """Upstream arms, one per line. The value is a list of tables, as in a design file."""

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        parts = [
            [a["name"], str(a.get("examples", "")), ", ".join(a.get("tasks", ()))] for a in value
        ]
        return "\n".join(": ".join(arm).removesuffix(": ") for arm in parts)

    def to_python(self, value: Any) -> Any:
        arms = []
        for line in filter(str.strip, super().to_python(value).splitlines()):
            if not (match := ARM.fullmatch(line)):
                problem = f"{line.strip()}: expected a name, a colon and a number of examples."
                raise ValidationError(problem)
            tasks = [task.strip() for task in (match[3] or "").split(",") if task.strip()]
            arms.append(
                {"name": match[1]}
                | ({"tasks": tasks} if tasks else {})
                | ({"examples": int(match[2])} if match[2] else {})
            )
        return arms


UNFOLDED = ("Tasks and examples", "Time and pay")
_MAIN = tuple(name for title in UNFOLDED for name in design_file.GROUPS[title])


class StudyForm(forms.ModelForm, audience.AudienceForm):
    """The form for everything that opening freezes. `version` reveals changes made by others."""

    tasks = RowsField(
        Task.objects.none(), widget=forms.CheckboxSelectMultiple, required=False,
        help_text="Each is combined with each number of shots.",
    )  # fmt: skip
    upstream_tasks = RowsField(
        Task.objects.none(), widget=forms.CheckboxSelectMultiple, required=False,
        help_text=Study._meta.get_field("upstream_tasks").help_text,
    )  # fmt: skip
    partition = forms.ChoiceField(
        label="CrossFit partition", required=False, choices=partitions,
        help_text=Study._meta.get_field("partition").help_text,
    )  # fmt: skip
    arms = ArmsField(label="Upstream arms", required=False, help_text=OPTIONS["arms"].help_text)
    shots = forms.CharField(help_text=Study._meta.get_field("shots").help_text)
    splits = forms.CharField(
        label="Training splits", help_text=Study._meta.get_field("splits").help_text
    )
    metrics = forms.MultipleChoiceField(
        label="Further metrics", choices=[(name, name) for name in METRICS],
        widget=forms.CheckboxSelectMultiple, required=False, help_text=OPTIONS["metrics"].help_text,
    )  # fmt: skip
    version = forms.CharField(widget=forms.HiddenInput, required=False)

    class Meta:
        model = Study
        fields = tuple(name for name in design_file.FORM_FIELDS if name not in OPTIONS)
        formfield_callback = form_field

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for name, field in OPTIONS.items():
            if name != "audience":
                self.fields.setdefault(name, form_field(field))
                self.initial.setdefault(name, getattr(self.instance, name))
        self.fields["prolific_reward"].required = False
        self.order_fields(design_file.FORM_FIELDS)
        for name in ("tasks", "upstream_tasks", "sham_task"):
            row_field(self, name).queryset = self._selectable()
            # Without the prefix, two fields would have the same labels.
            prefix = "Upstream: " if name == "upstream_tasks" else ""
            row_field(self, name).label_from_instance = partial(self._task_label, prefix)  # type: ignore[method-assign]  # as Django documents
        for name in ("task_minutes", "arms"):
            self.fields[name].widget.attrs["rows"] = 2
        self.initial["shots"] = " ".join(map(str, self.instance.shots))
        self.initial["splits"] = " ".join(map(str, self.instance.splits))
        self.initial["version"] = design.version(self.instance)
        self.initial.update(audience.initial(self.instance.audience))
        self._suggest()

    def sections(self) -> Iterator[dict[str, Any]]:
        """Yield groups of fields. While one is collapsed, `changed` says what is set in it."""
        # This checkbox is only needed if data leak.
        unasked = set() if self.leaks() else {"accepts_leakage"}
        for title, names in design_file.GROUPS.items():
            fields = [self[name] for name in _on_page(names) if name not in unasked]
            is_open = title in UNFOLDED or any(field.errors for field in fields)
            changed = [*map(self._stated, filter(self._is_shown, fields))]
            yield {"title": title, "fields": fields, "is_open": is_open, "changed": changed}

    def _is_shown(self, field: forms.BoundField) -> bool:
        """Return whether a field of the first sections is set, or any other is not the default."""
        if field.name in ("title", "name", "seed"):  # the heading has the names; a seed is random
            return False
        if field.name in (*_MAIN, *design_file.LISTS, *audience.NAMES):
            return bool(field.value())
        default = Study.design_field(field.name).get_default()
        if field.name == "consent_text":
            default = default_consent(self.instance.interface_language)
        return getattr(self.instance, field.name) != default

    def _stated(self, field: forms.BoundField) -> str:
        if field.name in design_file.LISTS:
            return f"{field.label}: {len(field.value())}"
        value = getattr(self.instance, field.name, None) or field.value()
        return f"{field.label}: {_in_words(field.field, value)}"

    @cached_property
    def consequences(self) -> Consequences | None:
        """Return the consequences of the values, or None if any required value is invalid."""
        if not self.is_bound:
            return consequences.for_study(self.instance) if self.instance.pk else None
        if self.lacking():
            return None
        return consequences.for_design(self.instance, self.chosen_tasks())

    def prolific_costs(self) -> list[dict[str, Any]]:
        sums = self.consequences
        cells = [(cell.seats, cell.announced) for cell in sums.cells] if sums else []
        return consequences.costs_of_design(self.instance, cells)

    def chosen_tasks(self) -> list[Task]:
        if self.is_bound:
            return sorted(self.cleaned_data.get("tasks", ()), key=lambda task: task.name)
        return list(self.instance.tasks.order_by("name")) if self.instance.pk else []

    def doubts(self) -> list[str]:
        return minutes.doubts(self.instance, self.chosen_tasks())

    def leaks(self) -> list[str]:
        if self.is_bound and {"shots", "splits"} & self.errors.keys():
            return []
        return consequences.leaks(self.instance, self.chosen_tasks())

    def ceilings(self) -> list[str]:
        return consequences.ceilings(self.chosen_tasks())

    def promise(self) -> str:
        return promises.promise(self.instance)

    def first_example(self) -> str:
        first = self.chosen_tasks()[0].test_split.examples.order_by("position").first()
        return " / ".join([*first.context, first.question]) if first else ""

    def lacking(self) -> list[forms.BoundField]:
        if not self.is_bound:
            return [] if self.instance.pk else [self["tasks"], self["shots"]]
        names = [name for name in self.errors if name in consequences.NEEDED]
        if not names and self.instance.is_cross_task and not self.instance.pk:
            names = ["upstream_tasks"]  # only known for a stored draft
        return [self[name] for name in names]

    def _selectable(self) -> QuerySet[Task]:
        """Return unarchived versions and the draft's. Later imports don't change a selection."""
        offered = Task.objects.filter(archived_at=None)
        self._newest = set(offered.latest_versions().values_list("pk", flat=True))
        if self.instance.pk:
            selected = self.instance.tasks.all() | self.instance.upstream_tasks.all()
            its = [*selected.values_list("pk", flat=True), self.instance.sham_task_id]
            offered = Task.objects.filter(Q(archived_at=None) | Q(pk__in=its))
        by_family = (When(card_data__family=name, then=n) for n, name in enumerate(FAMILIES))
        as_in_paper = (When(name=name, then=n) for n, name in enumerate(TASKS))
        return offered.order_by(
            Case(*by_family), Case(*as_in_paper, default=len(TASKS)), "name", "-version"
        )

    def _task_label(self, prefix: str, task: Task) -> str:
        sizes = ", ".join(map(str, task.training_sizes)) or "none"
        age = "" if task.pk in self._newest else ", older version"
        age = ", archived" if task.archived_at else age
        return f"{prefix}{task} (training sizes: {sizes}){age}"

    def _suggest(self) -> None:
        study, sum_in_words = self.instance, "the maximum pay of all seats plus 20 %"
        tasks = list(study.tasks.all()) if study.pk else []
        if tasks and study.hourly_rate and study.max_paid_hours is None:
            self.initial["max_paid_hours"] = design.suggested_hours(study, tasks)
        if tasks and study.is_paid:
            seats = sum(s.seats for s in study.scenarios.all())
            suggested = design.suggested_budget(study, tasks, seats)
            self.initial["budget"] = suggested if study.budget is None else study.budget
            sum_in_words += f", {suggested} {study.currency}" if suggested else ""
        times = f"{design.SUGGESTED_TIMES} times the announced minutes"
        for name, text in (("max_paid_hours", times), ("budget", sum_in_words)):
            is_new = self.initial.get(name) is not None and getattr(study, name) is None
            note = "Suggested, not saved yet" if is_new else "Suggested"
            self.fields[name].help_text += f" {note}: {text}."

    def clean_shots(self) -> list[int]:
        return self._numbers("shots", "0 10 20 30")

    def clean_prolific_reward(self) -> str:
        return self.cleaned_data["prolific_reward"] or ProlificReward.SHORTEST

    def clean_splits(self) -> list[int]:
        return self._numbers("splits", "1 2 3")

    def _numbers(self, name: str, such_as: str) -> list[int]:
        words = self.cleaned_data[name].replace(",", " ").split()
        if not all(word.isascii() and word.isdigit() and len(word) < 6 for word in words):
            raise ValidationError(f"Enter whole numbers separated by spaces, such as {such_as}.")
        return [int(word) for word in words]

    def _post_clean(self) -> None:
        for name in self.cleaned_data:
            if name not in (*design_file.LISTS, *audience.NAMES, "version"):
                setattr(self.instance, name, self.cleaned_data[name])
        self.instance.audience = self.audience()
        try:
            lists = [list(self.cleaned_data.get(name, [])) for name in design_file.LISTS]
            design.check_design(self.instance, *lists)
        except ValidationError as error:
            for field, messages in error.message_dict.items():
                if field == "audience":
                    self.refuse_audience(messages)
                elif field not in self.errors:
                    self.add_error(field if field in self.fields else None, messages)

    def save(self, commit: bool = True) -> Study:
        """Save the draft. Raises DesignError if frozen, or StaleDesign if another user saved it."""
        tasks, upstream = (list(self.cleaned_data[name]) for name in design_file.LISTS)
        version = self.cleaned_data["version"]
        design.save_draft(self.instance, tasks, made_from=version, upstream=upstream)
        return self.instance

    def overtake(self, stored: Study) -> list[tuple[forms.BoundField, str]]:
        """Return the fields that have since changed in the `stored` draft, with their values.

        The user's values remain in the form, and its version becomes that of the stored draft, so
        that saving again overwrites it.
        """
        now = design.version(stored)
        version = self.data.get("version", "")
        data = self.data.copy()  # type: ignore[attr-defined]  # a QueryDict
        data["version"] = now
        self.data = data
        changed = design.changed(version, now)
        values = design.values(stored)
        if "audience" in changed:
            changed = _on_page(changed)
            values |= dict.fromkeys(audience.NAMES, "") | audience.initial(values["audience"])
        return [(self[name], _in_words(self.fields[name], values[name])) for name in changed]


def _on_page(names: list[str]) -> list[str]:
    """Return the form fields for these design fields. The audience has one field per key."""
    return [field for name in names for field in (audience.NAMES if name == "audience" else [name])]


def _in_words(field: forms.Field, value: Any) -> str:
    if isinstance(field, ArmsField):
        value = field.prepare_value(value).splitlines()
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    choices = dict(getattr(field, "choices", ()))
    return str(choices.get(value, value)) if value not in (None, "") else "empty"

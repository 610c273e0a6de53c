"""The rules for designs, their scenarios, and saving drafts.

Saving a draft recreates its scenarios. Opening (study/lifecycle.py) writes the manifest (the
canonical JSON of everything that determines what annotators see and what is analysed) and its hash.
Pausing and closing are not part of the design, so they change neither.
"""

import copy
import hashlib
import math
import re
import statistics
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Any

from django.conf import settings
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import transaction
from django.db.models import Model, Sum

from annotation.models import OPTIONS, SCALES, Arm, Qualification, Scenario, Study, Topic
from annotation.models.options import default_consent
from annotation.pay import ledger
from annotation.study import audience, consequences, cross_task, minutes, own_questions, screening
from annotation.study.design_file import FORM_FIELDS, LISTS
from tasks.metrics import METRICS
from tasks.models import Example, Split, Task

LONGEST_CONSENT = 20_000  # characters, because some Markdown takes quadratic time
ONE_LINE = ("title", "ethics_contact")  # used in email subjects, headers and cells
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
SUGGESTED_TIMES = 3  # the suggested cap per person, as a multiple of the estimated time


class DesignError(Exception):
    """Raised if the study doesn't allow this change now. The message is shown to users."""


class StaleDesign(DesignError):
    """Raised if another user has saved the draft since this form was loaded."""


LEAKAGE = "Open the study although training examples are in the test set"


def values(study: Study) -> dict[str, Any]:
    """Return a draft's values by form field, with tasks as names that include the version."""
    fields = {name: getattr(study, name) for name in FORM_FIELDS if name not in LISTS}
    lists = {
        name: [str(task) for task in getattr(study, name).order_by("name", "version")]
        if study.pk
        else []
        for name in LISTS
    }
    return {**fields, **lists}


def version(study: Study) -> str:
    """Return the joined hashes of the stored draft's fields. Equal drafts have equal versions."""
    stored = values(study)
    marks = [hashlib.sha256(str(stored[name]).encode()).hexdigest()[:8] for name in FORM_FIELDS]
    return "-".join(marks) if study.pk else ""


def changed(old: str, new: str) -> list[str]:
    """Return the fields that differ between two versions, or all if either version is invalid."""
    first, second = old.split("-"), new.split("-")
    if len(first) != len(second):
        return list(FORM_FIELDS)
    return [name for name, a, b in zip(FORM_FIELDS, first, second, strict=True) if a != b]


def check_design(
    study: Study, tasks: Sequence[Task], upstream: Sequence[Task] = (), *, is_stored: bool = False
) -> None:
    """Raise ValidationError, with reasons by field, if any rule is violated.

    A stored row is known to satisfy its constraints, which would take one query each to validate.
    """
    errors: dict[str, list[str]] = {}
    try:
        study.full_clean(
            exclude=["owner", "shots", "splits", "options"], validate_constraints=not is_stored
        )
    except ValidationError as error:
        errors = {field: list(messages) for field, messages in error.message_dict.items()}
    for name, option in OPTIONS.items():
        try:
            setattr(study, name, option.clean(getattr(study, name), study))
        except ValidationError as error:
            errors[name] = error.messages

    def refuse(field: str, problem: str) -> None:
        errors.setdefault(field, []).append(problem)

    if not tasks:
        refuse("tasks", "Choose at least one task.")
    names = [task.name for task in tasks]
    for name in sorted({name for name in names if names.count(name) > 1}):
        refuse("tasks", f"{name} is chosen twice: a study can contain one version of a task.")
    _check_shots(study, tasks, refuse)
    try:
        minutes.parse(study.task_minutes, names)
    except ValidationError as error:
        refuse("task_minutes", error.messages[0])
    if tasks and (study.tasks_per_worker or 0) > len(tasks):
        refuse(
            "tasks_per_worker",
            f"The study has only {len(tasks)} task{'' if len(tasks) == 1 else 's'}.",
        )
    if (study.estimated_minutes or 0) > minutes.MOST:
        refuse("estimated_minutes", f"Enter at most {minutes.MOST}.")
    if study.equivalence_margin is not None and math.isnan(study.equivalence_margin):
        refuse("equivalence_margin", "Enter a number of points, or leave it empty.")
    if math.isnan(study.confidence_share or 0):
        refuse("confidence_share", "Enter a number from 0 to 1.")
    if study.asks_reasons and not study.confidence_share:
        refuse("asks_reasons", "Requires a question about confidence, so enter a share above 0.")
    if "\0" in study.consent_text or not study.consent_text.strip():
        refuse("consent_text", "Enter the consent text.")
    elif len(study.consent_text) > LONGEST_CONSENT:
        refuse("consent_text", f"Use at most {LONGEST_CONSENT} characters.")
    for field in ONE_LINE:
        if CONTROL.search(getattr(study, field)):
            refuse(field, "Enter one line, without line breaks or other control characters.")
    _check_metrics(study, tasks, refuse)
    _check_gates(study, tasks, refuse)
    if not errors.keys() & {"shots", "splits", "screening_examples", "anchor_examples", "seed"}:
        screening.check_sets(study, tasks, refuse)
        screening.check_context_free(study, tasks, refuse)
        if "qualification_threshold" not in errors:
            _check_reachable(study, tasks, refuse)
    cross_task.check(study, tasks, upstream, refuse)
    for problem in audience.problems(study.audience):
        refuse("audience", problem)
    if errors:
        errors.pop(NON_FIELD_ERRORS, None)
        raise ValidationError(errors)


def _check_shots(study: Study, tasks: Sequence[Task], refuse: Any) -> None:
    shots = _checked_numbers(study, "shots", 0, "number of shots", refuse)
    splits = _checked_numbers(study, "splits", 1, "training split", refuse)
    for task in tasks:
        for number in filter(None, shots):
            if number not in task.training_sizes:
                sizes = ", ".join(map(str, [0, *task.training_sizes]))
                refuse("shots", f"{task.name} has no training split of {number}; it has {sizes}.")
                continue
            numbers = task.split_numbers(number)
            for split in [split for split in splits if split not in numbers]:
                refuse(
                    "splits",
                    f"{task.name} has no training split {split} at {number} shots; it has"
                    f" {', '.join(map(str, numbers))}.",
                )


def _checked_numbers(study: Study, field: str, least: int, name: str, refuse: Any) -> list[int]:
    """Return the numbers in a list of the design, or [] if they are invalid."""
    numbers = getattr(study, field)
    if not isinstance(numbers, list) or not numbers:
        note = "" if least else " (0: no training step)"
        refuse(field, f"Choose at least one {name}{note}.")
    elif any(type(number) is not int or number < least for number in numbers):
        refuse(field, f"Enter whole numbers of at least {least}.")
    elif len(set(numbers)) < len(numbers):
        refuse(field, f"A {name} appears twice.")
    else:
        return numbers
    return []


def _check_metrics(study: Study, tasks: Sequence[Task], refuse: Any) -> None:
    names = study.metrics
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        refuse("metrics", "Enter a list of metric names.")
        return
    for name in sorted({name for name in names if names.count(name) > 1}):
        refuse("metrics", f"{name} is named twice.")
    for name in names:
        if name not in METRICS:
            refuse("metrics", f"Unknown metric {name!r}. Known: {', '.join(METRICS)}.")
        elif tasks and all(task.card.metric == name for task in tasks):
            refuse("metrics", f"{name} is already the metric of every task's card.")
        elif tasks and all(task.card.misfit(name) for task in tasks):
            reasons = " ".join(dict.fromkeys(task.card.misfit(name) for task in tasks))
            refuse("metrics", f"{name} doesn't fit any of the study's tasks. {reasons}")


def _check_gates(study: Study, tasks: Sequence[Task], refuse: Any) -> None:
    questions: dict[str, Callable[[str], object]] = {
        "comprehension_questions": screening.parse, "own_questions": own_questions.parse,
    }  # fmt: skip
    for field, parse in questions.items():
        try:
            parse(getattr(study, field))
        except ValidationError as error:
            refuse(field, error.messages[0])
    threshold = study.qualification_threshold
    if study.qualification in SCALES:
        maximum, scale = SCALES[Qualification(study.qualification)]
        if threshold is None:
            refuse("qualification_threshold", f"This rule needs a threshold: {scale}.")
        elif not threshold <= maximum:
            refuse("qualification_threshold", f"The threshold of this rule is {scale}.")
        elif study.qualification == Qualification.MINIMUM and 0 < threshold <= 1:
            percent = f"{100 * threshold:g}"
            refuse(
                "qualification_threshold",
                f"The threshold of this rule is {scale}: enter {percent} for {percent} %.",
            )
    elif threshold is not None and not threshold <= 100:
        refuse("qualification_threshold", "Enter at most 100.")
    judges = study.qualification != Qualification.NONE
    if judges and not any(study.shots or []) and not study.screening_examples:
        refuse(
            "qualification", "Without a training step, screening by score needs screening examples."
        )
    for task in tasks if study.attention_checks else []:
        checks = Example.objects.filter(split__task=task, split__kind=Split.Kind.CHECK).order_by()
        if (attached := checks.count()) < study.attention_checks:
            refuse(
                "attention_checks", f"{task} has {attached} attention checks: import them first."
            )
        test_questions = task.test_split.examples.order_by().values("question")
        if study.refuse_copies and checks.filter(question__in=test_questions).exists():
            refuse("refuse_copies", f"{task}: the questions of checks must say what to answer.")
    for task in tasks if study.refuse_copies else []:
        if task.card.question_selectable:
            refuse("refuse_copies", f"{task}: annotators select words of the question.")


def _check_reachable(study: Study, tasks: Sequence[Task], refuse: Any) -> None:
    threshold = study.qualification_threshold
    if study.qualification != Qualification.MINIMUM or threshold is None:
        return
    for task in tasks:
        if not task.report["unreachable"]:
            continue
        trained = task.splits.filter(
            kind=Split.Kind.TRAIN, shots__in=[n for n in study.shots if n], number__in=study.splits
        )
        judging = [(split.filename, list(split.examples.all())) for split in trained]
        if study.screening_examples and 0 in study.shots:
            judging.append(("the screening set", screening.examples(study, task)))
        for name, examples in judging:
            highest = statistics.fmean(
                task.card.kind.highest_s1(task.card, example, example.gold) for example in examples
            )
            if 100 * highest < threshold:
                refuse(
                    "qualification_threshold",
                    f"The threshold cannot be reached on {name} of {task.name}, where some gold"
                    f" spans cannot be highlighted. The highest mean S1 is {100 * highest:.1f}.",
                )


def suggested_hours(study: Study, tasks: Sequence[Task]) -> Decimal:
    """Return three times the longest estimate, in hours, rounded to one decimal place."""
    try:
        longest = minutes.longest(study, tasks)
    except ValidationError:  # reported at its own field
        longest = study.estimated_minutes or 0
    hours = Decimal(SUGGESTED_TIMES * longest) / 60
    return max(hours.quantize(Decimal("0.1"), ROUND_CEILING), Decimal("0.1"))


def suggested_budget(study: Study, tasks: Sequence[Task], seats: int) -> Decimal | None:
    """Return the cap for these seats plus a fifth, in currency units, or None for volunteers."""
    capped = copy.copy(study)
    capped.max_paid_hours = study.max_paid_hours or suggested_hours(study, tasks)
    cap = ledger.cap(capped) or 0
    places = seats + -(-seats // 5)
    return Decimal(ledger.in_currency(places * cap)) if study.is_paid else None


def cells(study: Study) -> list[tuple[int, int | None, str]]:
    """Return (shots, number of the training split, arm) for each scenario of a task."""
    rows: list[tuple[int, int | None, str]] = [
        (shots, split, arm)
        for shots in sorted(study.shots)
        for split in (sorted(study.splits) if shots else [None])
        for arm in cross_task.arms(study)
    ]
    return rows + [(0, None, Arm.QUESTION)] * bool(study.context_free_annotators)


def seats_in(study: Study, arm: str) -> int:
    return study.context_free_annotators if arm == Arm.QUESTION else study.annotators


def suggest_limits(study: Study, tasks: Sequence[Task]) -> None:
    """Set the suggested cap and budget in a paid draft, if they are empty."""
    if study.hourly_rate and study.max_paid_hours is None:
        study.max_paid_hours = suggested_hours(study, tasks)
    if study.budget is None:
        seats = len(tasks) * sum(seats_in(study, arm) for *_cell, arm in cells(study))
        study.budget = suggested_budget(study, tasks, seats)


def missing(study: Study) -> list[str]:
    sentences = []
    tasks = list(study.tasks.all())
    if study.hourly_rate and study.max_paid_hours is None:
        sentences.append(
            "Set the maximum paid hours, which cap each annotator's earnings. Suggested:"
            f" {suggested_hours(study, tasks)}, {SUGGESTED_TIMES} times the announced minutes."
        )
    if study.is_paid and study.budget is None:
        seats = study.scenarios.aggregate(n=Sum("seats", default=0))["n"]
        sentences.append(
            f"Set the study budget. Suggested: {suggested_budget(study, tasks, seats)}"
            f" {study.currency}, the cap for each of its {seats} seats, plus 20 %."
        )
    if study.is_paid and study.budget is not None:
        cap = ledger.cap(study)
        if cap is not None and ledger.cents(study.budget) < cap:
            sentences.append(
                f"The budget, {study.budget} {study.currency}, does not cover one annotator, who"
                f" can earn {ledger.in_currency(cap)}."
            )
    leaks = (
        [] if study.accepts_leakage else consequences.leaks(study, list(study.tasks.with_reports()))
    )
    if leaks:
        sentences.append(f"Select “{LEAKAGE}” in the design, or choose other training splits.")
    return sentences + leaks + consequences.study_problems(study)


def translate_consent(study: Study) -> None:
    """Replace the default consent text, unless it was edited, by that in the study's language."""
    defaults = {default_consent(code) for code, _name in settings.LANGUAGES}
    if study.consent_text.replace("\r\n", "\n") in defaults:  # as sent by browsers
        study.consent_text = default_consent(study.interface_language)


def save_draft(
    study: Study, tasks: Sequence[Task], made_from: str | None = None, upstream: Sequence[Task] = ()
) -> None:
    """Check a draft and save it with its scenarios.

    `made_from` is the `version` of the draft that was edited. Raises ValidationError with errors by
    field, DesignError if the study is frozen by now, and StaleDesign if the draft has changed.
    """
    translate_consent(study)
    audience.add_warning(study, [*tasks, *upstream, study.sham_task])
    check_design(study, tasks, upstream)
    with transaction.atomic():
        stored = None
        if study.pk:
            # Another user may be opening the study right now, and frozen values must not change.
            stored = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
            if not stored.is_draft:
                raise DesignError(f"The study is {stored.status}, so its design is frozen.")
            if made_from is not None and made_from != version(stored):
                raise StaleDesign("The draft was changed in the meantime.")
        study.shots, study.splits = sorted(study.shots), sorted(study.splits)
        previous = values(stored) if stored else None
        study.save()
        study.tasks.set(tasks)
        study.upstream_tasks.set(upstream)
        study.scenarios.all().delete()
        Scenario.objects.bulk_create(
            Scenario(
                study=study,
                task=task,
                shots=shots,
                split_number=split,
                is_one_of_splits=split is not None and len(study.splits) > 1,
                arm=arm,
                seats=seats_in(study, arm),
            )
            for task in sorted(tasks, key=lambda task: task.name)
            for shots, split, arm in cells(study)
        )
        minutes.store(study)
        _log(study, previous)


def _log(study: Study, previous: dict[str, Any] | None) -> None:
    """Log the old and new values of changed fields, or all values of a new draft."""
    current = values(study)
    names = [name for name in current if previous is None or previous[name] != current[name]]
    if not names:
        return

    def stored(all_values: dict[str, Any]) -> dict[str, Any]:
        rows = {name: all_values[name] for name in names}
        return {k: str(v) if isinstance(v, Model) else v for k, v in rows.items()}

    study.events.record(
        "draft created" if previous is None else f"design changed: {', '.join(names)}",
        Topic.DESIGN, study=study, about=study.name,
        before=stored(previous) if previous else None, after=stored(current),
    )  # fmt: skip

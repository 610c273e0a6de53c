"""The methods section of a report: the frozen design, how the study was run, and the analysis."""

from collections.abc import Callable, Mapping
from typing import Any

from analysis.cross_task import learners
from analysis.documents import preregistration, results, wording
from analysis.documents.blocks import Paragraph
from analysis.documents.study_record import StudyRecord
from analysis.documents.wording import PLANNED, listed
from analysis.scores import markup
from annotation.models import Arm, Status, StudyStatus
from annotation.prolific.adapter import ProlificAdapter
from annotation.study import own_questions, screening
from tasks.answers import KINDS


def paragraphs(record: StudyRecord, tables: Mapping[str, int]) -> list[Paragraph]:
    """Return the methods section, from the design to the tests and pay.

    `tables` maps the captions of the report's tables to their row counts. In tables of differences,
    only rows with a p value count.
    """
    values = {
        **wording.context(record.manifest),
        "record": record,
        "design": record.design,
        "flow": record.flow,
        **_design(record),
        "can_screen_out": wording.can_screen_out(record.manifest),
        "automatic": record.excluded - record.excluded_manually,
        **_score(record.manifest),
        "of_means": tables.get(results.OF_MEANS),
        "agreement": tables.get(results.AGREEMENT),
        "of_shots": tables.get(results.OF_SHOTS),
        "of_models": tables.get(results.OF_MODELS),
        "of_arms": tables.get(results.ARM_GAINS),
        "of_model_gains": tables.get(learners.TABLES[1].title),
        **preregistration.analysis_context(record.manifest),
        **_pay(record),
    }
    return [Paragraph(text) for text in markup.texts(markup.rendered("methods", values))]


def _design(record: StudyRecord) -> dict[str, Any]:
    manifest, opened_at = record.manifest, record.study.opened_at
    assert opened_at is not None  # drafts do not have a report
    shots = sorted(record.study.shots)
    is_closed = record.study.status == StudyStatus.CLOSED
    planned = record.design if is_closed else wording.design(manifest, PLANNED)
    return {
        "named_tasks": [
            f"{task['name']} (version {task['version']})" for task in manifest["tasks"]
        ],
        "shots": f"{listed(map(str, shots))} {'shot' if shots == [1] else 'shots'}",
        "opened_at": wording.moment(opened_at),
        "cells": sum(scenario.get("arm") != Arm.QUESTION for scenario in manifest["scenarios"]),
        "ways": _answer_kinds(manifest),
        "is_from_elsewhere": {name for name, _n in record.platforms} - {ProlificAdapter.label},
        "options": wording.options(manifest, wording.REPORTED),
        "questions": len(screening.parse(manifest["comprehension_questions"])),
        "own_questions": len(own_questions.parse(manifest["own_questions"])),
        "stopping": planned["stopping"],
    }


def _answer_kinds(manifest: dict[str, Any]) -> list[str]:
    tasks: dict[str, list[str]] = {verb: [] for _noun, verb in wording.FORMS.values()}
    for task in manifest["tasks"]:
        _noun, verb = wording.FORMS[wording.answer_kind(task["card"])]
        tasks[verb].append(task["name"])
    ways = {verb: names for verb, names in tasks.items() if names}
    if len(ways) == 1:
        return [f"by {verb}" for verb in ways]
    return [f"by {verb} in {listed(names)}" for verb, names in ways.items()]


def _score(manifest: dict[str, Any]) -> dict[str, Any]:
    kinds = {wording.answer_kind(task["card"]) for task in manifest["tasks"]}
    nouns = [k.right_noun for k in KINDS.values() if k.name in kinds and k.right_noun]
    return {
        "has_labels": _tasks_with(manifest, lambda card: card.get("labels")),
        "right": list(dict.fromkeys(nouns)),
        "alternatives": _tasks_with(manifest, lambda card: card["gold_rule"] == "any_of"),
    }


def _tasks_with(manifest: dict[str, Any], condition: Callable[[dict[str, Any]], Any]) -> list[str]:
    return [task["name"] for task in manifest["tasks"] if condition(task["card"])]


def _pay(record: StudyRecord) -> dict[str, Any]:
    timed = [settled for settled in record.wages if settled.per_active_hour is not None]
    early = sum(settled.participation.status != Status.COMPLETED for settled in timed)
    return {
        "pay": [text for name, text in record.pay_sentences.items() if name != "active_time"],
        "wage": record.hourly_wage,
        "timed": len(timed),
        "timed_early": early,
    }

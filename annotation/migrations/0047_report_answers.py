"""Answers to single items of the report's checklist become fields of its short form."""

from typing import Any

from django.db import migrations

# Field -> the items whose answers it takes over, in order, with the begin of their line.
FIELDS: dict[str, list[tuple[str, str]]] = {
    "2.1": [("2.1", ""), ("5.1.1", "")],
    "3.4": [("3.4", ""), ("3.3", ""), ("1.7", "")],
    "5.2": [
        ("1.10", "preregistration: "), ("5.2", "data: "), ("5.4", "models: "),
    ],
}  # fmt: skip


def forwards(apps: Any, _schema_editor: Any) -> None:
    answer_model = apps.get_model("annotation", "ReportAnswer")
    for field, items in FIELDS.items():
        names = [item for item, _begin in items]
        rows = answer_model.objects.filter(item__in=names).order_by("study", "at")
        by_study: dict[int, dict[str, Any]] = {}
        for row in rows:
            by_study.setdefault(row.study_id, {})[row.item] = row
        for study, stored in by_study.items():
            latest = max(stored.values(), key=lambda row: row.at)
            parts = []
            for item, begin in items:
                if item in stored:
                    text = stored[item].text
                    parts.append(f"{begin}{' '.join(text.split())}" if begin else text)
            answer_model.objects.filter(study=study, item__in=names).delete()
            answer_model.objects.create(
                study_id=study, item=field, by_id=latest.by_id, at=latest.at,
                text="\n".join(parts),
            )  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [("annotation", "0046_families_of_closed_studies")]

    operations = [migrations.RunPython(forwards, migrations.RunPython.noop, elidable=True)]

from django.db import migrations, models

from annotation.steps.signs import Answered, signs, word_count


def fill(apps, schema_editor):
    """Who had completed before signs were stored: those of their answers."""
    Participation = apps.get_model("annotation", "Participation")
    for one in Participation.objects.filter(status="completed", signs__isnull=True).only("pk").iterator():
        Participation.objects.filter(pk=one.pk).update(signs=signs(answers(apps, one))._asdict())


def answers(apps, one):
    """The answers of that participation, in the order in which they were shown."""
    texts = {}
    spans = apps.get_model("annotation", "AnswerSpan").objects
    chosen = spans.filter(answer__turn__participation=one).order_by("answer", "segment", "start")
    for turn, text in chosen.values_list("answer_id", "text"):
        texts.setdefault(turn, {})[text] = None
    turns = apps.get_model("annotation", "Turn").objects.filter(participation=one)
    rows = turns.filter(answer__isnull=False).order_by("pk").values(
        "pk", "step", "shown_at", "answer__submitted_at", "answer__label", "answer__s1",
        "answer__active_seconds", "example__context", "example__question", "activity__blurs",
        "activity__away_seconds", "activity__pastes",
    )  # fmt: skip
    return [
        Answered(
            step=row["step"],
            shown_at=row["shown_at"],
            submitted_at=row["answer__submitted_at"],
            words=word_count([*row["example__context"], row["example__question"]]),
            answer=row["answer__label"] or "\n".join(texts.get(row["pk"], ())),
            active_seconds=row["answer__active_seconds"],
            blurs=row["activity__blurs"] or 0,
            away_seconds=row["activity__away_seconds"] or 0.0,
            pastes=row["activity__pastes"] or 0,
            right=row["answer__s1"] == 1,
        )
        for row in rows
    ]


class Migration(migrations.Migration):

    dependencies = [("annotation", "0014_long_names_of_recruiters")]

    operations = [
        migrations.AddField("participation", "signs", models.JSONField(null=True)),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]

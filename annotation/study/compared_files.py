"""Which uploaded predictions the people of a study are compared with.

Those for its tasks whose uploader is in its team. Closing the study freezes them as the family of
comparisons that Holm's correction is over: a file that comes later is shown apart.
"""

from django.db.models import Exists, OuterRef, Q

from annotation.models import ComparedFile, Study, StudyStatus
from tasks.models import PredictionFile, PredictionFileQuerySet


def files(study: Study) -> PredictionFileQuerySet:
    """The family, and of a closed study the later files of models that are not in it.

    A later run of a model that is in the family at its task and shots would change that comparison.
    """
    of_team = _of_team(study)
    if study.status != StudyStatus.CLOSED:
        return of_team
    frozen = ComparedFile.objects.filter(study=study)
    same = frozen.filter(
        file__model=OuterRef("model"), file__task=OuterRef("task"), file__shots=OuterRef("shots")
    )
    late = of_team.filter(~Exists(same))
    return PredictionFile.objects.filter(
        Q(pk__in=frozen.order_by().values("file")) | Q(pk__in=late.order_by().values("pk"))
    )


def family(study: Study) -> PredictionFileQuerySet:
    """Those that Holm's correction is over."""
    if study.status != StudyStatus.CLOSED:
        return _of_team(study)
    frozen = ComparedFile.objects.filter(study=study)
    return PredictionFile.objects.filter(pk__in=frozen.order_by().values("file"))


def freeze(study: Study) -> list[str]:
    """Store the family of a study that is being closed; the names of its files."""
    # Whoever deletes a file waits for this lock, and then finds that it is compared.
    rows = _of_team(study).order_by("pk").select_related("model")
    compared = list(rows.select_for_update(no_key=True, of=("self",)))
    ComparedFile.objects.bulk_create(ComparedFile(study=study, file=file) for file in compared)
    return [f"{file.model.name}: {file.filename}" for file in compared]


def _of_team(study: Study) -> PredictionFileQuerySet:
    members = study.members.order_by().values("user")
    of_team = Q(model__uploaded_by=study.owner_id) | Q(model__uploaded_by__in=members)
    return PredictionFile.objects.filter(of_team, task__in=study.tasks.all())

"""Uploaded predictions that are compared with a study's annotators.

These are files for its tasks, uploaded by members of its team. Closing the study freezes them as
the family of comparisons for Holm's correction. Later files are shown separately.
"""

from django.db.models import Exists, OuterRef, Q

from annotation.models import ComparedFile, Kind, Study, StudyStatus
from tasks.models import PredictionFile, PredictionFileQuerySet
from tasks.models.choices import CELL_ARMS


def files(study: Study) -> PredictionFileQuerySet:
    """Return the compared files. After closing, this includes later files for new cells.

    Later files of a model in the family, for the same task and shots, would change its comparison.
    """
    of_team = _team_files(study).in_cells()
    if study.status != StudyStatus.CLOSED:
        return of_team
    frozen = ComparedFile.objects.filter(study=study)
    same_cell = frozen.filter(
        file__model=OuterRef("model"), file__task=OuterRef("task"), file__shots=OuterRef("shots")
    )
    late = of_team.filter(~Exists(same_cell))
    return PredictionFile.objects.filter(
        Q(pk__in=frozen.order_by().values("file")) | Q(pk__in=late.order_by().values("pk"))
    )


def supervised(study: Study) -> PredictionFileQuerySet:
    """Return the fully supervised runs, which are shown alongside people but not compared."""
    return _team_files(study, is_supervised=True)


def arm_files(study: Study) -> PredictionFileQuerySet:
    """Return files that name an arm of a cross-task study, which are used for models' gains."""
    return _team_files(study).exclude(arm="")


def for_overlap(study: Study) -> PredictionFileQuerySet:
    """Return the compared files, and the witnesses, which are used only for error overlap."""
    return files(study) | _team_files(study, witness=True).filter(arm__in=CELL_ARMS)


def all_files(study: Study) -> PredictionFileQuerySet:
    return files(study) | arm_files(study)


def has_models(study: Study) -> bool:
    """Return whether any predictions are compared with the study, or a model took a seat in it."""
    seated = study.participations.filter(kind=Kind.MODEL)
    return Study.objects.filter(Exists(for_overlap(study)) | Exists(seated), pk=study.pk).exists()


def are_compared(study: Study) -> bool:
    """Return whether tables compare any predictions, or models in seats, with annotators."""
    seated = study.participations.counted(Kind.MODEL)
    return files(study).exists() or seated.exists()


def family(study: Study) -> PredictionFileQuerySet:
    """Return the files covered by Holm's correction."""
    if study.status != StudyStatus.CLOSED:
        return _team_files(study).in_cells()
    frozen = ComparedFile.objects.filter(study=study)
    return PredictionFile.objects.filter(pk__in=frozen.order_by().values("file"))


def freeze(study: Study) -> list[str]:
    """Store the family when the study is closed and return the names of its files."""
    # Deleting a file waits for this lock, and then finds out that the file is compared.
    rows = _team_files(study).in_cells().order_by("pk").select_related("model")
    compared = list(rows.select_for_update(no_key=True, of=("self",)))
    ComparedFile.objects.bulk_create(ComparedFile(study=study, file=file) for file in compared)
    return [f"{file.model.name}: {file.filename}" for file in compared]


def _team_files(
    study: Study, is_supervised: bool = False, witness: bool = False
) -> PredictionFileQuerySet:
    members = study.members.order_by().values("user")
    of_team = Q(model__uploaded_by=study.owner_id) | Q(model__uploaded_by__in=members)
    runs = PredictionFile.objects.filter(of_team, task__in=study.tasks.all())
    return runs.filter(shots__isnull=is_supervised, witness=witness)

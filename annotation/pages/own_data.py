"""An annotator's own data as a file: for the annotator, and for the researchers of the study."""

from collections.abc import Collection

from django.http import JsonResponse

from annotation.models import Participation
from annotation.platforms.registry import current_exit
from annotation.steps.personal_data import WHOLE, personal_data


def own_data_file(participation: Participation, rights: Collection[str] = WHOLE) -> JsonResponse:
    """JSON to download, named by the pseudonym; with what those `rights` allow to read."""
    way_out = current_exit(participation)
    name = f"{participation.pseudonym}.json"
    return JsonResponse(
        personal_data(participation, way_out.code if way_out else None, rights),
        json_dumps_params={"indent": 1, "ensure_ascii": False},
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )

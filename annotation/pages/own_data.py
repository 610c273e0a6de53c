"""An annotator's own data as a file, by either door."""

from django.http import JsonResponse

from annotation.models import Participation
from annotation.steps.personal_data import personal_data


def own_data_file(participation: Participation) -> JsonResponse:
    """JSON to download, named by the pseudonym."""
    name = f"{participation.pseudonym}.json"
    return JsonResponse(
        personal_data(participation),
        json_dumps_params={"indent": 1, "ensure_ascii": False},
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )

"""What every view of the API is, and what an unknown address answers."""

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView


class ApiView(APIView):
    """Refuses parameters that it does not know: one that is misspelt would be ignored."""

    parameters: frozenset[str] = frozenset()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        unknown = sorted(set(request.query_params) - self.parameters)
        if unknown:
            known = ", ".join(sorted(self.parameters)) or "none"
            raise ValidationError(
                {name: [f"{name!r} is no parameter here; known: {known}."] for name in unknown}
            )


@extend_schema(exclude=True)
class Unknown(APIView):
    """Every other address under /api/: 404 as all errors are written."""

    def get(self, request: Request, path: str) -> Response:
        raise Http404("There is no such address; /api/v1/docs/ lists all.")

    post = put = patch = delete = get

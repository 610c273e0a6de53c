"""Start simulated annotators by the API."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.simulation import rehearsal_job
from annotation.web import jobs
from annotation.web.access import study_of
from annotation.web.form_bodies import as_object, check_known
from annotation.web.problems import Conflict, Unprocessable
from annotation.web.rights import right_to
from annotation.web.views import ApiView


class Simulate(ApiView):
    """Run simulated annotators; rehearsals only."""

    class SimulateBody(serializers.Serializer):
        policy = serializers.CharField(required=False, default="noisy:0.8", max_length=40)
        number = serializers.IntegerField(
            required=False,
            min_value=0,
            max_value=1000,
            help_text="all free seats if left out; those who were admitted go on besides",
        )
        seed = serializers.IntegerField(
            required=False, default=0, min_value=0, max_value=2**53, help_text="0"
        )

    @extend_schema(
        request=SimulateBody,
        responses={202: jobs.JobShape},
        summary="Send simulated annotators into a rehearsal, as a job",
    )
    def post(self, request: Request, name: str) -> Response:
        study = study_of(request, name, right_to("robots"))
        sent = as_object(request.data)
        check_known(sent, self.SimulateBody().fields)
        body = self.SimulateBody(data=sent)
        if not body.is_valid():
            raise Unprocessable(body.errors)
        wanted = body.validated_data
        try:
            job = rehearsal_job.start(
                study, wanted["policy"], wanted.get("number"), wanted["seed"], request.user
            )
        except rehearsal_job.NoRehearsal as error:
            raise Conflict(str(error)) from None
        except ValueError as error:
            raise Unprocessable({"policy": [str(error)]}) from None
        return Response(jobs.as_record(job), status=202)

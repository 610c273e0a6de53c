"""Webhooks in the API."""

from datetime import datetime
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.models import Delivery, Event
from annotation.notices import webhooks
from annotation.web.access import study_of
from annotation.web.form_bodies import as_object, check_known
from annotation.web.paging import RowsView, small, small_list
from annotation.web.problems import Unprocessable
from annotation.web.views import ApiView
from tasks.columns import Column

DELIVERIES = [
    Column("id", meaning="the same in each attempt; process it once", get=lambda d: str(d.key)),
    Column("event", meaning="what happened"),
    Column("subject", meaning="object of the event"),
    Column("state", meaning="waiting, delivered or failed"),
    Column("attempts", meaning="number of attempts", kind=int),
    Column(
        "last_status", meaning="HTTP status of the last response; null if there was none", kind=int
    ),
    Column("last_error", meaning="reason for the failure"),
    Column("created_at", meaning="UTC", kind=datetime),
    Column("next_at", meaning="time of the next attempt, UTC", kind=datetime),
    Column("delivered_at", meaning="UTC", kind=datetime),
]


class WebhookShape(serializers.Serializer):
    """A webhook; `secret` is shown only on creation."""

    id = serializers.IntegerField()
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.ChoiceField(Event.values))
    created_at = serializers.DateTimeField()


class NewWebhookShape(WebhookShape):
    secret = serializers.CharField(help_text="whsec_..., as in Standard Webhooks")


class WebhookBody(serializers.Serializer):
    url = serializers.CharField(help_text="https://..., with a public IP address")
    events = serializers.ListField(child=serializers.ChoiceField(Event.values))


class Webhooks(ApiView):
    """A study's webhooks, for its owners."""

    @small("Webhooks", "A study's webhooks", WebhookShape().get_fields())
    def get(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "own")
        return small_list(WebhookShape(study.webhooks.all(), many=True).data)

    @extend_schema(
        summary="Create a webhook", request=WebhookBody, responses={201: NewWebhookShape}
    )
    def post(self, request: Request, name: str) -> Response:
        study = study_of(request, name, "own")
        sent = as_object(request.data)
        check_known(sent, {"url", "events"})
        body = WebhookBody(data=sent)
        if not body.is_valid():
            raise Unprocessable(body.errors)
        data = body.validated_data
        try:
            webhook, secret = webhooks.make(study, data["url"], data["events"], request.user)
        except webhooks.WebhookError as error:
            raise Unprocessable({"url": [str(error)]}) from None
        return Response({**WebhookShape(webhook).data, "secret": secret}, status=201)


class OneWebhook(ApiView):
    @extend_schema(summary="End a webhook", responses={204: None})
    def delete(self, request: Request, name: str, pk: int) -> Response:
        study = study_of(request, name, "own")
        webhook = get_object_or_404(study.webhooks, pk=min(pk, 2**62))
        webhook.end(by=request.user)
        return Response(status=204)


class Deliveries(RowsView):
    columns = DELIVERIES
    summary = "A webhook's deliveries and their results"
    filters: ClassVar = {"state": ("state", Delivery.State.values)}

    def rows(self, request: Request, **names: Any) -> QuerySet[Delivery]:
        study = study_of(request, names["name"], "own")
        return get_object_or_404(study.webhooks, pk=min(names["pk"], 2**62)).deliveries.all()

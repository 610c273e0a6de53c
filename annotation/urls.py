"""Addresses of the annotators' and researchers' pages, and of the API."""

from django.urls import include, path

urlpatterns = [
    path("", include("annotation.pages.researcher.urls")),
    path("", include("annotation.pages.worker.urls")),
    path("api/v1/", include("annotation.api.urls")),
]

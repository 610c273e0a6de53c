"""Addresses of the annotators' and researchers' pages, and of the API."""

from django.urls import include, path

urlpatterns = [
    path("", include("annotation.urls_researcher")),
    path("", include("annotation.participation.urls")),
    path("api/v1/", include("annotation.urls_api")),
]

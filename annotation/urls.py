"""Addresses of the annotators' and the researchers' pages."""

from django.urls import include, path

urlpatterns = [
    path("", include("annotation.pages.researcher.urls")),
    path("", include("annotation.pages.worker.urls")),
]

"""Addresses of /api/v1/ that give no results; the others are in analysis/pages/api_urls.py."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []

"""Addresses of tables, exports and figures."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []

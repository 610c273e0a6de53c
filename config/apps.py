"""Wiring that must happen once at start."""

from django.apps import AppConfig


class HandfulConfig(AppConfig):
    name = "config"
    verbose_name = "Handful"

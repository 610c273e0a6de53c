"""Wiring that must happen once at start."""

from django.apps import AppConfig
from django.contrib.staticfiles.apps import StaticFilesConfig


class HandfulConfig(AppConfig):
    name = "config"
    verbose_name = "Handful"


class HandfulStaticFilesConfig(StaticFilesConfig):
    """Leaves out what no page asks for: compressing it took most of the first start."""

    ignore_patterns = [*StaticFilesConfig.ignore_patterns, "rest_framework", "redoc", "*es-bundle*"]

"""Addresses of /api/v1/ that give no results; the others are in analysis/pages/api_urls.py."""

from annotation.api import participant_urls

urlpatterns = [*participant_urls.urlpatterns]

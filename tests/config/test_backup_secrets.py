"""A backup contains no session or other secret that would let its reader sign in."""

import subprocess

import pytest
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.db import connection
from django.urls import reverse

from annotation.management import backups

pytestmark = pytest.mark.engines


@pytest.mark.django_db(transaction=True)
def test_a_backup_has_no_session_and_no_counter(ada, researcher, tmp_path):
    assert ada.get(reverse("studies")).status_code == 200
    cache.set("attempts-of-a-user", "a count")
    key = Session.objects.get().session_key
    path = tmp_path / "database"
    backups.dump(path)
    held = path.read_bytes()
    if connection.vendor == "postgresql":
        shown = ["pg_restore", "--data-only", "--file=-", str(path)]
        held = subprocess.run(shown, capture_output=True, check=True).stdout
    assert b"ada" in held
    for secret in (key, "attempts-of-a-user"):
        assert secret.encode() not in held
    assert Session.objects.filter(session_key=key).exists()  # only the backup lacks it

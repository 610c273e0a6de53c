"""What is reached by a network: the shared cache, mail, Prolific, and ourselves through proxies."""

import importlib
import smtplib
from collections.abc import Iterator
from urllib.parse import urlsplit

import requests
from django.conf import settings
from django.core.cache import cache
from django.core.mail import get_connection

from annotation.models import Notice, ProlificStudy
from annotation.platforms.prolific.client import Client
from annotation.platforms.prolific.errors import ProlificError
from config import health
from config.doctor.findings import Finding, fail, ok, warn

WAIT = 10  # seconds


def shared_cache() -> Iterator[Finding]:
    """Where attempts to sign in are counted, by all processes."""
    where = "Redis" if settings.REDIS_URL else "the database"
    try:
        cache.set("doctor", "well", 60)
        works = cache.get("doctor") == "well"
    except Exception as error:  # of the library behind it, whichever it is
        works, where = False, f"{where} ({type(error).__name__}: {str(error)[:120]})"
    if works:
        yield ok(f"Kept in {where}")
    else:
        yield fail(
            f"The shared cache does not work: {where}. Nobody can sign in.",
            "Start Redis, check REDIS_URL, pip install redis; without it run manage.py migrate.",
        )


def broker() -> Iterator[Finding]:
    """Where jobs are handed to Celery workers, if they are."""
    url = getattr(settings, "CELERY_BROKER_URL", "")
    if not url:
        yield ok("Not used: pages and tick advance jobs")
        return
    try:
        kombu = importlib.import_module("kombu")
        with kombu.Connection(url, connect_timeout=WAIT) as connection:
            connection.ensure_connection(max_retries=1, timeout=WAIT)
    except Exception as error:  # of the library behind it, whichever it is
        yield fail(
            f"The broker does not answer: {type(error).__name__}: {str(error)[:120]}",
            "Start it; check CELERY_BROKER_URL. Until then jobs wait, and tick runs them.",
        )
    else:
        yield ok("The broker answers")


def mail() -> Iterator[Finding]:
    """Connects and signs in as for a mail; sends none."""
    if not settings.EMAIL_HOST:
        yield warn("No mail is sent: EMAIL_HOST is not set.", "Set EMAIL_HOST, or copy links.")
        return
    place = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    backend = get_connection()
    try:
        backend.open()
    except (OSError, smtplib.SMTPException) as error:
        yield fail(
            f"The mail server {place} cannot be used: {type(error).__name__}: {error}",
            "Check EMAIL_HOST, EMAIL_PORT, EMAIL_USE_TLS, EMAIL_HOST_USER, EMAIL_HOST_PASSWORD.",
        )
    else:
        yield ok(f"{place} lets us in")
    finally:
        backend.close()
    if settings.DEFAULT_FROM_EMAIL.endswith("@localhost"):
        yield warn(f"Mails are from {settings.DEFAULT_FROM_EMAIL}.", "Set EMAIL_FROM.")
    if not settings.SITE_URL:
        yield warn("Addresses in mails have no host: SITE_URL is not set.", "Set SITE_URL.")
    waiting = Notice.objects.filter(mail=Notice.MailState.WAITING, attempts__gt=0).count()
    if waiting:
        yield warn(f"{waiting} mails have failed and are tried again.", "See the log of tick.")


def prolific() -> Iterator[Finding]:
    """Is the token known there, and are workspace and project clear?"""
    studies = ProlificStudy.objects.exclude(external_id=None)
    if removed := studies.filter(account__token="").count():
        yield warn(
            f"{removed} studies are on Prolific whose token was removed: they are not synced.",
            "The pages Platforms of these studies name the account that can set it again.",
        )
    if not settings.PROLIFIC_TOKEN:
        if there := studies.filter(account=None).count():
            yield fail(
                f"{there} studies are on Prolific, and there is no token to sync or pay them.",
                "Set PROLIFIC_TOKEN (docs/prolific.md).",
            )
        else:
            yield ok("Not used")
        return
    try:
        client = Client()
        client.me()
        client.project(client.workspace())
    except ProlificError as error:
        yield fail(f"Prolific: {error}", "docs/prolific.md; manage.py prolific_check --read-only")
        return
    if not settings.PROLIFIC_WEBHOOK_SECRET:
        yield warn(
            "PROLIFIC_WEBHOOK_SECRET is not set: statuses come with tick alone.",
            "manage.py subscribe_prolific prints it.",
        )
    yield ok("The token is known")


def proxies() -> Iterator[Finding]:
    """Asks this server through its public address, and what of the request has arrived."""
    if not settings.SITE_URL:
        yield warn("Not looked at, as SITE_URL is not set.", "Set SITE_URL=https://your.host.")
        return
    try:
        reply = requests.get(
            f"{settings.SITE_URL}/health/live",
            headers={health.ASKS: health.signed()},
            timeout=WAIT,
            allow_redirects=False,
        )
    except requests.RequestException as error:
        yield fail(
            f"{settings.SITE_URL} does not answer: {type(error).__name__}: {str(error)[:160]}",
            "Start server and proxy; check the name, the certificate and the firewall.",
        )
        return
    if reply.status_code == 400:
        host = urlsplit(settings.SITE_URL).netloc
        yield fail(
            f"The server refuses the host that the proxy passes on for {settings.SITE_URL}.",
            f"Let the proxy pass Host on as it is, and add {host} to ALLOWED_HOSTS.",
        )
        return
    try:
        arrived = reply.json()["arrived"]
    except (requests.JSONDecodeError, KeyError, TypeError):
        yield fail(
            f"{settings.SITE_URL} answers {reply.status_code}, and it is not this server.",
            "Point the proxy to it; give server and commands the same SECRET_KEY and SITE_URL.",
        )
        return
    yield from _compared(arrived)


def _compared(arrived: dict[str, object]) -> Iterator[Finding]:
    """What has arrived beside what is set."""
    entries, wanted = arrived["forwarded"], settings.TRUSTED_PROXIES
    if entries != wanted:
        yield fail(
            f"{entries} entries of X-Forwarded-For arrive, but TRUSTED_PROXIES is {wanted}: limits"
            " count the wrong addresses.",
            f"Set TRUSTED_PROXIES={entries}, or let the proxies set the header.",
        )
    if arrived["secure"] != settings.SITE_URL.startswith("https:"):
        yield fail(
            "The server does not see that SITE_URL is https: sign-in and forms fail.",
            "Let the proxy set X-Forwarded-Proto, and set HTTPS=1.",
        )
    if arrived["release"] != settings.VERSION:
        yield fail(
            f"The server runs {arrived['release']}, and this is {settings.VERSION}.",
            "Restart the server.",
        )
    yield ok(f"{settings.SITE_URL} leads here through {entries} proxies")

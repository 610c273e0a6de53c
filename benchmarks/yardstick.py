"""The yardstick is a minimal Django app with one page, one form and one table, without Handful.

Its cycle is one GET of a page and one POST with a single INSERT, with session and CSRF checks. The
settings are those of `django-admin startproject`, with a new database connection for each request.
KEEP_CONNECTIONS=1 uses persistent connections, as Handful does. Serve it as
`benchmarks.yardstick:application`.
"""

import os

import dj_database_url
from django.conf import settings

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={
        "default": dj_database_url.parse(
            os.environ["DATABASE_URL"],
            conn_max_age=600 if os.environ.get("KEEP_CONNECTIONS") == "1" else 0,
        )
    },
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
    ],
    MIDDLEWARE=[
        "django.middleware.security.SecurityMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
    ],
    ROOT_URLCONF=__name__,
    SECRET_KEY="a benchmark on 127.0.0.1 has no secrets",
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ],
                "loaders": [
                    (
                        "django.template.loaders.locmem.Loader",
                        {
                            "page.html": "<!doctype html><title>Page</title><p>{{ text }}</p>"
                            '<form method="post">{% csrf_token %}<textarea name="answer">'
                            "</textarea><button>Submit</button></form>"
                        },
                    )
                ],
            },
        }
    ],
)

import django  # noqa: E402

django.setup()

from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect  # noqa: E402
from django.shortcuts import render  # noqa: E402
from django.urls import path  # noqa: E402


class Entry(models.Model):
    """The only table."""

    worker = models.TextField()
    answer = models.TextField()

    class Meta:
        app_label = "yardstick"


TEXT = "A text of about the length of a paragraph, as it is read and answered here. " * 12


def page(request: HttpRequest) -> HttpResponse:
    """Show the form, and store its submission."""
    worker = request.session.setdefault("worker", "visitor")
    if request.method == "POST":
        Entry.objects.create(worker=worker, answer=request.POST["answer"])
        return HttpResponseRedirect("/")
    return render(request, "page.html", {"text": TEXT})


def make_tables() -> None:
    """Create the tables. Migrations create the tables of sessions."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    with connection.schema_editor() as editor:
        editor.create_model(Entry)


urlpatterns = [path("", page)]
application = get_wsgi_application()

if __name__ == "__main__":
    make_tables()

"""Settings, from environment variables; invalid values raise ImproperlyConfigured.

Without any variable they suit a laptop: SQLite in var/, debug off, a secret key generated in var/.
In production set DATABASE_URL, SECRET_KEY, ALLOWED_HOSTS and HTTPS=1 (`manage.py check --deploy`).
"""

import os
import re
import tomllib
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from config import keys

BASE_DIR = Path(__file__).resolve().parent.parent
VERSION = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["version"]
VAR_DIR = keys.private_folder(Path(os.environ.get("HANDFUL_VAR", BASE_DIR / "var")))


def env_bool(name: str, default: bool) -> bool:
    """Read a yes/no variable; values other than 0/1/true/false are errors."""
    value = os.environ.get(name, "").strip().lower()
    if value == "":
        return default
    if value in ("1", "true"):
        return True
    if value in ("0", "false"):
        return False
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}")


def env_int(name: str, default: int, least: int = 1) -> int:
    """Read a whole number of at least `least`."""
    value = os.environ.get(name, "").strip() or str(default)
    if not value.isascii() or not value.isdigit() or int(value) < least:
        raise ImproperlyConfigured(
            f"{name} must be a whole number of at least {least}, not {value!r}"
        )
    return int(value)


def env_list(name: str, default: list[str]) -> list[str]:
    value = os.environ.get(name, "")
    return [part.strip() for part in value.split(",") if part.strip()] or default


def env_amount(name: str, default: str) -> Decimal:
    """Read an amount of money, such as 1000 or 250.50."""
    text = os.environ.get(name, "").strip() or default
    if not re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,2})?", text):
        raise ImproperlyConfigured(f"{name} must be an amount such as 1000, not {text!r}")
    return Decimal(text)


DEBUG = env_bool("DEBUG", False)
HTTPS = env_bool("HTTPS", False)
# Number of our proxies in front of this server: that many X-Forwarded-For entries are trusted.
TRUSTED_PROXIES = env_int("TRUSTED_PROXIES", 0, least=0)
SECRET_KEY = keys.secret("SECRET_KEY", VAR_DIR)
# Key for the hash of platform and ID, which permanently prevents people from repeating a task. It
# must survive a rotation of SECRET_KEY, so it is a separate secret.
WORKER_KEY = keys.secret("WORKER_KEY", VAR_DIR)
# Encrypts the IDs used for payment, until `purge_identities` deletes them.
IDENTITY_KEY = keys.secret("IDENTITY_KEY", VAR_DIR)
# Prolific: a researcher's API token, and the URL of the API.
PROLIFIC_TOKEN = os.environ.get("PROLIFIC_TOKEN", "")
PROLIFIC_URL = os.environ.get("PROLIFIC_URL", "https://api.prolific.com").rstrip("/")
PROLIFIC_APP_URL = "https://app.prolific.com"  # where participants are sent after a study
PROLIFIC_WORKSPACE = os.environ.get("PROLIFIC_WORKSPACE", "")
PROLIFIC_PROJECT = os.environ.get("PROLIFIC_PROJECT", "")
PROLIFIC_WEBHOOK_SECRET = os.environ.get("PROLIFIC_WEBHOOK_SECRET", "")
# Per study, in its currency: above it, a user with the "May spend" permission has to approve.
STUDY_BUDGET_LIMIT = env_amount("HANDFUL_STUDY_BUDGET_LIMIT", "1000")
# Webhooks only go to public addresses, or to these hosts (or host:port).
WEBHOOK_HOSTS = env_list("HANDFUL_WEBHOOK_HOSTS", [])
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]"])

INSTALLED_APPS = [
    "config.apps.HandfulConfig",
    "tasks",
    "annotation",
    "analysis",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "config.apps.HandfulStaticFilesConfig",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "csp",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]

MIDDLEWARE = [
    # First, so that the security headers are on every response, whichever middleware returns it.
    "config.middleware.on_every_reply",
    "config.metrics.measured",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Before CSRF reads the body.
    "config.middleware.CheckedRequests",
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    # Before anything that shows the sign-in page, which checks `next` with the request stored here.
    "allauth.account.middleware.AccountMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.sessions.of_researchers",
    "config.kept_forms.PagesInstead",
    "config.audit.audited",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]


def database() -> dj_database_url.DBConfig:
    """Return the database of DATABASE_URL (sqlite:///absolute/path or postgresql://...)."""
    parsed = dj_database_url.config(
        env="DATABASE_URL",
        default=f"sqlite:///{VAR_DIR / 'handful.sqlite3'}",
        conn_max_age=600,
        # Replaces a persistent connection that a database restart has closed.
        conn_health_checks=True,
        # For PgBouncer, which gives each transaction another connection.
        disable_server_side_cursors=env_bool("DISABLE_SERVER_SIDE_CURSORS", False),
    )
    if parsed["ENGINE"].endswith("sqlite3"):
        if parsed["NAME"] != ":memory:" and Path(parsed["NAME"]).parent.is_dir():
            keys.private_file(Path(parsed["NAME"]))
        # One writer at a time, from the start of the transaction: code that locks rows on
        # PostgreSQL is then correct here too, and "database is locked" does not occur.
        parsed["CONN_HEALTH_CHECKS"] = False  # a file does not restart
        parsed["OPTIONS"] = {
            "timeout": 30,
            "transaction_mode": "IMMEDIATE",
            # Overwrite erased data: not every build of SQLite does so by default.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
            " PRAGMA secure_delete=ON;",
        }
    elif not parsed["ENGINE"].endswith("postgresql"):
        raise ImproperlyConfigured("DATABASE_URL must begin with sqlite:/// or postgresql://")
    else:
        parsed["ENGINE"] = "config.postgresql"  # replaces the check of persistent connections
        # Statement and lock limits are set on the role (docs/operating.md): PgBouncer rejects them
        # here.
        parsed.setdefault("OPTIONS", {}).setdefault("connect_timeout", 5)
    return parsed


DATABASES = {"default": database()}

# With a broker, jobs and the tick run on Celery workers (config/celery.py).
CELERY_BROKER_URL = os.environ.get("CELERY_BROKER_URL", "").strip()
if CELERY_BROKER_URL and DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    raise ImproperlyConfigured(
        "CELERY_BROKER_URL is set, but the database is SQLite, which supports one writer and one"
        " machine. Set DATABASE_URL to PostgreSQL, or remove CELERY_BROKER_URL. Pages and tick"
        " then run the jobs."
    )
if CELERY_BROKER_URL and find_spec("celery") is None:
    raise ImproperlyConfigured(
        "CELERY_BROKER_URL is set, but Celery is not installed: pip install 'celery[redis]'"
    )

CACHES = {
    # For one process: results that can be recomputed.
    "process": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    # For all processes and machines: rate limits, such as allauth's limit on sign-in attempts.
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "shared_cache",
        # Above this, Django deletes entries that have not expired.
        "OPTIONS": {"MAX_ENTRIES": 1_000_000},
    },
}
# Rate limits on Start per IP address, for studies open to all.
STARTS_PER_MINUTE = 30
STARTS_PER_HOUR = env_int("STARTS_PER_HOUR", 5, least=0)

# The mail server; without one, no email is sent, and pages offer links to copy.
EMAIL_HOST = os.environ.get("EMAIL_HOST", "")
EMAIL_PORT = env_int("EMAIL_PORT", 587)
EMAIL_HOST_USER = os.environ.get("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD = os.environ.get("EMAIL_HOST_PASSWORD", "")
EMAIL_USE_SSL = EMAIL_PORT == 465
EMAIL_USE_TLS = env_bool("EMAIL_USE_TLS", not EMAIL_USE_SSL)
EMAIL_TIMEOUT = 10  # seconds
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'dummy'}.EmailBackend"
DEFAULT_FROM_EMAIL = os.environ.get("EMAIL_FROM", "handful@localhost")
# This server's public URL, for emails sent outside a request.
SITE_URL = os.environ.get("SITE_URL", "").rstrip("/")

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Researchers' pages are in English. Annotators' pages are in the study's language
# (annotation/web/access.py), whatever the browser requests; docs/contributing.md#languages.
LANGUAGE_CODE = "en"
LANGUAGES = [
    ("en", "English"),
    ("ar", "العربية"),
    ("de", "Deutsch"),
    ("es", "español"),
    ("zh-hans", "简体中文"),
]
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = ["config.formats"]
USE_I18N = True
TIME_ZONE = "UTC"
USE_TZ = True

# Maximum bytes of a request without files; it is never written to disk.
MAX_FORM = DATA_UPLOAD_MAX_MEMORY_SIZE = 2_500_000
DATA_UPLOAD_MAX_NUMBER_FILES = 3_000  # a folder of the Few-shot Gym has up to 2,400

STATIC_URL = "static/"
STATIC_ROOT = Path(os.environ.get("STATIC_ROOT", BASE_DIR / "staticfiles"))
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "config.static.HashedStaticFiles"},
}
# Serve files from static/ if collectstatic has not run (development, tests).
WHITENOISE_USE_FINDERS = True
WHITENOISE_ALLOW_ALL_ORIGINS = False  # other sites cannot load our files
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = ["map", "png", "jpg", "gif", "webp", "woff2", "gz", "br"]

PASSWORD_HASHERS = ["config.sign_in.LimitedArgon2"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "studies"
LOGOUT_REDIRECT_URL = "home"
# django-allauth. Sign-up is closed (config/sign_in.py).
ACCOUNT_ADAPTER = "config.sign_in.Accounts"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_PRESERVE_USERNAME_CASING = True
ACCOUNT_SESSION_REMEMBER = True  # lasts SESSION_COOKIE_AGE
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False  # no email to strangers; the page does not reveal this
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Handful] "
ACCOUNT_RATE_LIMITS = {
    # Only failures count: a correct password removes its attempt.
    "login": "",
    # Per name and IP address, and per IP address.
    "login_failed": "8/15m/key,40/15m/ip",
    # Per name, from any IP address: only a short lock, or a stranger could lock a researcher out.
    "login_failed_name": "30/m/key",
}
MFA_ADAPTER = "config.sign_in.TwoFactor"
MFA_TOTP_ISSUER = "Handful"
MFA_TOTP_TOLERANCE = 1  # also accept codes from 30 s earlier or later: phones' clocks differ
# Sign-up is closed, so verified email addresses are not required.
MFA_ALLOW_UNVERIFIED_EMAIL = True

# Browsers accept a cookie with this prefix only from this host over TLS: another host of the same
# domain cannot set it.
COOKIE_PREFIX = "__Host-" if HTTPS else ""
SESSION_COOKIE_NAME = f"{COOKIE_PREFIX}sessionid"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}csrftoken"
CSRF_COOKIE_SECURE = HTTPS
WORKER_COOKIE_NAME = f"{COOKIE_PREFIX}handful_worker"  # identifies a browser on an open link
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"  # needs no cookie
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "config.kept_forms.csrf_failure"
SECURE_SSL_REDIRECT = HTTPS
# Requested from the local network, without a certificate.
SECURE_REDIRECT_EXEMPT = [r"^health/", r"^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
# Preloading HSTS is a decision for a whole domain, which this server must not take.
SILENCED_SYSTEM_CHECKS = ["security.W021"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# docs/highlighter.md#the-pages-policy: no inline code; data: images are Pico's icons.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

REST_FRAMEWORK = {
    # Tokens first: their scheme is in the 401 that programs need. The session is for the OpenAPI
    # page, which sends test requests.
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "annotation.web.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": ["annotation.web.authentication.PerHolder"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "EXCEPTION_HANDLER": "annotation.web.problems.as_problem",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Handful",
    "DESCRIPTION": "The functions of the researchers' pages for programs: docs/researchers/api.md.",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "annotation.web.problems.document",
    ],
    "ENUM_NAME_OVERRIDES": {
        "KindEnum": "annotation.models.Kind",
        "SeenBeforeEnum": ["no", "yes", "unsure"],
        "JobStateEnum": "tasks.models.job.JobState",
        "SplitKindEnum": "tasks.models.task.SplitKind",
    },
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

# The bearer token for /metrics; without it, /metrics is disabled.
METRICS_TOKEN = os.environ.get("METRICS_TOKEN", "")

LOG_FORMAT = "Json" if env_bool("LOG_JSON", False) else "Plain"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": f"config.logs.{LOG_FORMAT}"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        # Django's own handlers do not cut secrets: all records go to the root logger.
        "django": {"handlers": [], "level": "WARNING"},
        "django.server": {"handlers": [], "level": "INFO", "propagate": True},
        # 4xx is routine: a second click, an invalid answer.
        "django.request": {"level": "ERROR"},
    },
}

"""Django settings, read from environment variables. Invalid values raise ImproperlyConfigured.

The defaults are suitable for a laptop: SQLite in var/, debug off, a secret key generated in var/.
In production, set DATABASE_URL, SECRET_KEY, ALLOWED_HOSTS and HTTPS=1, and run `check --deploy`.
"""

import hashlib
import os
import tomllib
from importlib.util import find_spec
from pathlib import Path

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from config import keys

BASE_DIR = Path(__file__).resolve().parent.parent
VERSION = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["version"]
VAR_DIR = keys.private_folder(Path(os.environ.get("HANDFUL_VAR", BASE_DIR / "var")))


def env_bool(name: str, default: bool) -> bool:
    """Read a boolean variable, which must be 0, 1, true or false."""
    value = os.environ.get(name, "").strip().lower()
    values = {"": default, "1": True, "true": True, "0": False, "false": False}
    if value not in values:
        raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}")
    return values[value]


def env_int(name: str, default: int, minimum: int = 1) -> int:
    """Read an integer variable, which must be at least `minimum`."""
    value = os.environ.get(name, "").strip() or str(default)
    if not value.isascii() or not value.isdigit() or int(value) < minimum:
        raise ImproperlyConfigured(
            f"{name} must be a whole number of at least {minimum}, not {value!r}"
        )
    return int(value)


def env_list(name: str, default: list[str]) -> list[str]:
    value = os.environ.get(name, "")
    return [part.strip() for part in value.split(",") if part.strip()] or default


DEBUG = env_bool("DEBUG", False)
HTTPS = env_bool("HTTPS", False)
# How many of our proxies are in front of this server. Their X-Forwarded-For entries are trusted.
TRUSTED_PROXIES = env_int("TRUSTED_PROXIES", 0, minimum=0)
SECRET_KEY = keys.secret("SECRET_KEY", VAR_DIR)
# Key for hashing platform IDs, to prevent people from repeating a task. It is a separate key
# because the hashes must remain valid when SECRET_KEY is rotated.
WORKER_KEY = keys.secret("WORKER_KEY", VAR_DIR)
# Encrypts the IDs used for payment, which are deleted after the date set in the study.
IDENTITY_KEY = keys.secret("IDENTITY_KEY", VAR_DIR)
# Prolific: a researcher's API token and the URL of the API.
PROLIFIC_TOKEN = os.environ.get("PROLIFIC_TOKEN", "")
PROLIFIC_URL = os.environ.get("PROLIFIC_URL", "https://api.prolific.com").rstrip("/")
PROLIFIC_APP_URL = "https://app.prolific.com"  # where participants go after a study
PROLIFIC_WORKSPACE = os.environ.get("PROLIFIC_WORKSPACE", "")
PROLIFIC_PROJECT = os.environ.get("PROLIFIC_PROJECT", "")
# Per study, in its currency. A higher budget must be approved by a user who "May spend".
STUDY_BUDGET_LIMIT = env_int("HANDFUL_STUDY_BUDGET_LIMIT", 1000, minimum=0)
# Webhooks may only use public IP addresses or these hosts (host or host:port).
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
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]

MIDDLEWARE = [
    # First, so that every response has the security headers, whichever middleware returns it.
    "config.middleware.security_headers",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Must run before the CSRF middleware reads the body.
    "config.middleware.CheckedRequests",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    # Must run before any middleware that shows the sign-in page, where allauth uses the request.
    "allauth.account.middleware.AccountMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.sessions.researcher_time_zone",
    "config.saved_forms.PreserveInput",
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
            ]
        },
    }
]


def database() -> dj_database_url.DBConfig:
    """Return the database settings from DATABASE_URL (sqlite:///... or postgresql://...)."""
    parsed = dj_database_url.config(
        env="DATABASE_URL",
        default=f"sqlite:///{VAR_DIR / 'handful.sqlite3'}",
        conn_max_age=600,
        # Reconnect if a restart of the database has closed a persistent connection.
        conn_health_checks=True,
        # Required for PgBouncer, which may use a different connection for each transaction.
        disable_server_side_cursors=env_bool("DISABLE_SERVER_SIDE_CURSORS", False),
    )
    if parsed["ENGINE"].endswith("sqlite3"):
        if parsed["NAME"] != ":memory:" and Path(parsed["NAME"]).parent.is_dir():
            keys.private_file(Path(parsed["NAME"]))
        # Transactions take the write lock when they begin. Thus, code that locks rows on PostgreSQL
        # is also correct on SQLite, and "database is locked" errors are avoided.
        parsed["CONN_HEALTH_CHECKS"] = False  # a file has no connection to lose
        parsed["OPTIONS"] = {
            "timeout": 30,
            "transaction_mode": "IMMEDIATE",
            # Overwrite deleted data, which not every build of SQLite does by default.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
            " PRAGMA secure_delete=ON;",
        }
    elif not parsed["ENGINE"].endswith("postgresql"):
        raise ImproperlyConfigured("DATABASE_URL must begin with sqlite:/// or postgresql://")
    else:
        parsed["ENGINE"] = "config.postgresql"  # has a cheaper check of persistent connections
        # Statement and lock timeouts are set on the role (docs/operating.md), because PgBouncer
        # rejects them here.
        parsed.setdefault("OPTIONS", {}).setdefault("connect_timeout", 5)
    return parsed


DATABASES = {"default": database()}

# If a broker is set, Celery workers run the jobs and the tick (config/celery.py).
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
    # One cache per process, for results that can be recomputed.
    "process": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    # Shared by all processes and machines, for rate limits such as allauth's for signing in.
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "shared_cache",
        # Above this number, Django deletes entries even if they have not expired.
        "OPTIONS": {"MAX_ENTRIES": 1_000_000},
    },
}
# Rate limits for starting open studies, per IP address.
STARTS_PER_MINUTE = 30
STARTS_PER_HOUR = env_int("STARTS_PER_HOUR", 5, minimum=0)

# The mail server. If EMAIL_HOST is empty, no email is sent, and pages show links to copy instead.
EMAIL_HOST = os.environ.get("EMAIL_HOST", "")
EMAIL_PORT = env_int("EMAIL_PORT", 587)
EMAIL_HOST_USER = os.environ.get("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD = os.environ.get("EMAIL_HOST_PASSWORD", "")
EMAIL_USE_SSL = EMAIL_PORT == 465
EMAIL_USE_TLS = env_bool("EMAIL_USE_TLS", not EMAIL_USE_SSL)
EMAIL_TIMEOUT = 10  # seconds
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'dummy'}.EmailBackend"
DEFAULT_FROM_EMAIL = os.environ.get("EMAIL_FROM", "handful@localhost")
# The public URL of this server, for emails that are not sent during a request.
SITE_URL = os.environ.get("SITE_URL", "").rstrip("/")

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Researchers' pages are in English. Annotators' pages are in the study's language
# (annotation/web/access.py), not in that of the browser; see docs/contributing.md#languages.
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
TIME_ZONE = "UTC"

# Maximum size of a request without files, in bytes. It is never written to disk.
MAX_FORM = DATA_UPLOAD_MAX_MEMORY_SIZE = 2_500_000
DATA_UPLOAD_MAX_NUMBER_FILES = 3_000  # a Few-shot Gym folder contains up to 2,400

STATIC_URL = "static/"
STATIC_ROOT = Path(os.environ.get("STATIC_ROOT", BASE_DIR / "staticfiles"))
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "config.static.HashedStaticFiles"},
}
# Serve files from static/ if collectstatic has not been run (in development and tests).
WHITENOISE_USE_FINDERS = True
WHITENOISE_KEEP_ONLY_HASHED_FILES = True  # pages use no other names
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
# django-allauth. Sign-up is disabled (config/sign_in.py).
ACCOUNT_ADAPTER = "config.sign_in.Accounts"
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = True  # for SESSION_COOKIE_AGE
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False  # neither email nor reveal unknown addresses
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Handful] "
ACCOUNT_RATE_LIMITS = {
    # Only failed attempts count: a correct password takes back its attempt.
    "login": "",
    # Per user name and IP address, and per IP address.
    "login_failed": "8/15m/key,40/15m/ip",
    # Per user name, from any IP address. With a longer lock, anyone could lock a researcher out.
    "login_failed_name": "30/m/key",
}
MFA_ADAPTER = "config.sign_in.TwoFactor"
MFA_TOTP_ISSUER = "Handful"
MFA_TOTP_TOLERANCE = 1  # accept the codes before and after, as phone clocks differ
# Accounts are created by invitation, so email addresses need not be verified.
MFA_ALLOW_UNVERIFIED_EMAIL = True

# Single sign-on with OpenID Connect, off by default (docs/operating.md#single-sign-on).
OIDC_URL = os.environ.get("OIDC_URL", "").rstrip("/")  # the issuer
# The origins of the provider's sign-in page.
OIDC_ORIGINS = env_list("OIDC_ORIGINS", ["/".join(OIDC_URL.split("/")[:3])] if OIDC_URL else [])
OIDC_NAME = OIDC_URL and (os.environ.get("OIDC_NAME") or "your institution")
# Domains whose email addresses get an account. If empty, users connect existing accounts.
OIDC_DOMAINS = [domain.lower() for domain in env_list("OIDC_DOMAINS", [])]
SOCIALACCOUNT_REAUTHENTICATION_REQUIRED = True  # for connecting an account
SOCIALACCOUNT_ADAPTER = "config.sign_in.SingleSignOn"
# Subjects are unique only within an issuer.
OIDC_PROVIDER = {"provider_id": hashlib.sha256(OIDC_URL.encode()).hexdigest()[:16]}
OIDC_APP = OIDC_PROVIDER | {
    "name": OIDC_NAME,
    "client_id": os.environ.get("OIDC_CLIENT_ID", ""),
    "secret": os.environ.get("OIDC_CLIENT_SECRET", ""),
    "settings": {"server_url": OIDC_URL},
}
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [OIDC_APP] if OIDC_URL else []}
}

# Browsers accept a cookie with this prefix only from this host and over TLS, so other hosts in the
# same domain cannot set it.
COOKIE_PREFIX = "__Host-" if HTTPS else ""
SESSION_COOKIE_NAME = f"{COOKIE_PREFIX}sessionid"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}csrftoken"
CSRF_COOKIE_SECURE = HTTPS
WORKER_COOKIE_NAME = f"{COOKIE_PREFIX}handful_worker"  # for browsers that opened an open link
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"  # uses no extra cookie
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "config.saved_forms.csrf_failure"
SECURE_SSL_REDIRECT = HTTPS
# Requested from within the local network, without TLS.
SECURE_REDIRECT_EXEMPT = [r"^health/"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
# HSTS preloading affects an entire domain, so this server does not enable it.
SILENCED_SYSTEM_CHECKS = ["security.W021"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None

# See docs/highlighter.md#content-security-policy. No inline code; Pico's icons are data: images.
# Chromium also checks where a submitted form is redirected.
FORM_ACTION = " ".join(["'self'", *OIDC_ORIGINS])
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " font-src 'self'; connect-src 'self';"
    f" form-action {FORM_ACTION}; base-uri 'none'; frame-ancestors 'none'"
)

REST_FRAMEWORK = {
    # Token authentication comes first, because its scheme is in the 401 response for API clients.
    # Session authentication is for the OpenAPI page, which sends requests for testing.
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

LOG_FORMAT = "Json" if env_bool("LOG_JSON", False) else "Plain"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": f"config.logs.{LOG_FORMAT}"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        # Django's own handlers do not remove secrets, so all records go to the root logger.
        "django": {"handlers": [], "level": "WARNING"},
        "django.server": {"handlers": [], "level": "INFO", "propagate": True},
        # 4xx responses are routine, for example after a double click or an invalid answer.
        "django.request": {"level": "ERROR"},
    },
}

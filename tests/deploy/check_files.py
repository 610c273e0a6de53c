"""The files in deploy/ are valid for the programs that read them."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from compose_spec.models import ComposeSpecification

from tests.deploy import machine

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted(path for kind in ("service", "timer", "target") for path in DEPLOY.glob(f"*.{kind}"))


@pytest.mark.parametrize("file", ["Containerfile", "Containerfile.pgbouncer"])
def test_hadolint_finds_nothing(file):
    hadolint = Path(sys.executable).with_name("hadolint")
    assert machine.run([str(hadolint), str(DEPLOY / file)]) == ""


def compose() -> dict:
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def lost(given, kept, place: str = "") -> list[str]:
    """Return the keys of `given` that are missing from `kept`, as the specification lacks them."""
    if not isinstance(given, dict) or not isinstance(kept, dict):
        return []
    return [
        f"{place}{key}"
        for key in given
        if key not in kept and not str(key).startswith("x-")
    ] + [
        missing
        for key, value in given.items()
        for missing in lost(value, kept.get(key), f"{place}{key}.")
    ]  # fmt: skip


def test_the_compose_file_fits_the_specification():
    given = compose()
    read = ComposeSpecification.model_validate(given)
    assert lost(given, read.model_dump(by_alias=True, exclude_unset=True)) == []


def test_an_unknown_compose_key_is_found():
    given = compose()
    given["services"]["web"]["read_onyl"] = True
    read = ComposeSpecification.model_validate(given)
    dumped = read.model_dump(by_alias=True, exclude_unset=True)
    assert lost(given, dumped) == ["services.web.read_onyl"]


def test_every_service_exists_and_is_read_only():
    given = compose()
    services = given["services"]
    assert {"db", "pgbouncer", "redis", "web", "worker", "beat", "migrate", "nginx"} <= set(
        services
    )
    for name, service in services.items():
        assert service.get("read_only"), name
        needed = set(service.get("depends_on", {}))
        assert needed <= set(services), name
        named = {volume.partition(":")[0] for volume in service.get("volumes", [])}
        assert {v for v in named if not v.startswith(".")} <= set(given["volumes"]), name
        assert all((DEPLOY / v).exists() for v in named if v.startswith(".")), name
        assert set(service.get("secrets", [])) <= set(given["secrets"]), name
        assert set(service["networks"]) <= set(given["networks"]), name
        if "build" in service:
            assert (ROOT / service["build"]["dockerfile"]).exists(), name
    published = {name for name, service in services.items() if "ports" in service}
    assert published == {"nginx"}


@pytest.fixture
def units(tmp_path) -> list[str]:
    """Copy the units, and create a clone's programs, so that systemd can load the units."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("celery", "python"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    for path in UNITS:
        text = path.read_text().replace("/srv/handful/.venv/bin", str(programs))
        (tmp_path / path.name.replace("@", "@8000")).write_text(text)
        if "@" in path.name:
            (tmp_path / path.name).write_text(text)
    return [str(tmp_path / path.name.replace("@", "@8000")) for path in UNITS]


def test_systemd_finds_nothing_wrong_with_the_units(units):
    assert machine.run(["systemd-analyze", "verify", "--man=no", *units]) == ""


def test_systemd_calls_each_service_well_protected(units):
    for unit in (unit for unit in units if unit.endswith(".service")):
        # systemd's exposure score, from 0 (safe) to 10; most services score 9.
        machine.run(
            ["systemd-analyze", "security", "--offline=true", "--threshold=25", unit],
            env=os.environ | {"SYSTEMD_COLORS": "0"},
        )


@pytest.fixture
def certificate(tmp_path) -> Path:
    """A folder with a self-signed certificate for annotate.example.org."""
    machine.run(
        ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2",
         "-keyout", str(tmp_path / "privkey.pem"), "-out", str(tmp_path / "fullchain.pem"),
         "-subj", "/CN=annotate.example.org", "-addext", "subjectAltName=DNS:annotate.example.org"]
    )  # fmt: skip
    return tmp_path


def nginx_takes(text: str, folder: Path) -> list[str]:
    """Check this configuration, and return the command that starts nginx with it."""
    (folder / "handful.conf").write_text(text)
    (folder / "nginx.conf").write_text(
        f"pid {folder}/pid; error_log stderr; events {{}} http {{ access_log off;"
        f" include {folder}/handful.conf; }}\n"
    )
    command = ["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)]
    machine.run([*command, "-t"])
    return command


def test_nginx_accepts_its_configuration_and_speaks_http_2(certificate):
    text = (DEPLOY / "nginx.conf").read_text()
    text = re.sub(r"/etc/letsencrypt/live/[^/]*|/var/log/nginx", str(certificate), text)
    text = text.replace("listen 80;", f"listen unix:{certificate}/plain;")
    text = text.replace("listen 443 ", f"listen unix:{certificate}/tls ")
    command = nginx_takes(text, certificate)
    client = ["openssl", "s_client", "-alpn", "h2", "-unix", str(certificate / "tls")]
    with subprocess.Popen([*command, "-g", "daemon off;"]) as nginx:
        try:
            deadline = time.monotonic() + 30
            while not (certificate / "pid").exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            assert "ALPN protocol: h2\n" in machine.run(client, input="", errors="replace")
        finally:
            nginx.terminate()


def test_nginx_accepts_the_configuration_of_the_compose_file(certificate):
    """The command edits the file with sed; container names are replaced by known hosts."""
    script = compose()["services"]["nginx"]["command"][2].replace("$$", "$")
    written = certificate / "written.conf"
    script = (
        script.replace("/etc/handful.conf", str(DEPLOY / "nginx.conf"))
        .replace("/etc/nginx/conf.d/handful.conf", str(written))
        .replace("exec nginx -g 'daemon off;'", "true")
    )
    subprocess.run(["sh", "-c", script], check=True, env={"SERVER_NAME": "a.example", **os.environ})
    text = written.read_text()
    assert "server web:8000;" in text
    assert text.count("server_name a.example;") == 2
    assert "letsencrypt" not in re.sub(r"#.*", "", text)
    nginx_takes(
        text.replace("web:8000", "127.0.0.1:8000").replace("/run/secrets", str(certificate)),
        certificate,
    )

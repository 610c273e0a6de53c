"""Sign-in is limited without locking out other users, and hashes few passwords at once."""

import re
import threading
from datetime import timedelta

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher, make_password
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.db import connection
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from annotation.recruitment.visitors import client_address
from config.checks import proxies_are_counted
from config.sign_in import TooManyAttempts

RIGHT, WRONG = "right horse", "wrong horse"
HERE, ELSEWHERE = "10.0.0.1", "10.0.0.2"


def sign_in(name="ada", password=WRONG, address=HERE, times=1, **headers):
    """Try to sign in `times` times, each in a new browser; return the last reply."""
    for _ in range(times):
        fields = {"login": name, "password": password}
        reply = Client().post(reverse("login"), fields, REMOTE_ADDR=address, headers=headers)
    return reply


def attempts() -> dict[str, list[float]]:
    """Return the times of the attempts that still count, by cache key."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT cache_key FROM shared_cache")
        keys = [key.split(":", 2)[2] for (key,) in cursor.fetchall()]
    return {key: times for key in keys if (times := cache.get(key)) and isinstance(times, list)}


def let_pass(**time) -> None:
    for key, times in attempts().items():
        cache.set(key, [at - timedelta(**time).total_seconds() for at in times], 900)


# Limits -------------------------------------------------------------------------------------------


def test_eight_wrong_passwords_lock_out_only_that_address(researcher):
    assert sign_in(times=8).status_code == 200
    refused = sign_in(password=RIGHT)
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 15 * 60
    page = refused.content.decode()
    assert "Try again in 15 minutes" in page
    assert 'href="#main"' in page  # Handful's own error page
    assert sign_in(password=RIGHT, address=ELSEWHERE).status_code == 302


def test_attempts_during_a_lockout_do_not_prolong_it(researcher):
    sign_in(times=8)
    let_pass(minutes=14, seconds=30)
    before = attempts()
    sign_in(times=3)
    assert attempts() == before
    let_pass(seconds=31)
    assert sign_in(password=RIGHT).status_code == 302


def test_a_right_password_does_not_reset_the_failures(researcher):
    sign_in(times=7)
    for _ in range(9):
        assert sign_in(password=RIGHT).status_code == 302
    sign_in()
    assert sign_in(password=RIGHT).status_code == 429


def test_one_password_for_many_names_locks_out_only_its_address(researcher):
    for number in range(40):
        assert sign_in(name=f"name-{number}").status_code == 200
    assert sign_in(password=RIGHT).status_code == 429
    assert sign_in(password=RIGHT, address=ELSEWHERE).status_code == 302


@pytest.mark.long
def test_a_name_tried_from_many_addresses_is_delayed_not_locked(researcher):
    for number in range(5):
        sign_in(address=f"10.1.0.{number}", times=6)
    refused = sign_in(password=RIGHT, address=ELSEWHERE)
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) <= 60
    let_pass(seconds=61)
    assert sign_in(password=RIGHT, address=ELSEWHERE).status_code == 302


def test_a_wrong_name_and_a_wrong_password_get_the_same_reply(researcher):
    researcher.username = "adalovelace"
    researcher.save()

    def page(name):
        return sign_in(name=name).content.decode().replace(name, "NAME")

    known, unknown = (
        re.sub(r'value="[A-Za-z0-9]{64}"', "", page(n)) for n in ("adalovelace", "nobodyelse")
    )
    assert "Incorrect name or password." in known
    assert known == unknown


def test_a_closed_account_is_refused_like_a_wrong_name(researcher):
    researcher.is_active = False
    researcher.save()
    reply = sign_in(password=RIGHT)
    assert "Incorrect name or password." in reply.content.decode()


def test_behind_a_proxy_each_client_has_its_own_limit(researcher, settings):
    settings.TRUSTED_PROXIES = 1
    sign_in(times=8, x_forwarded_for=ELSEWHERE)
    assert sign_in(password=RIGHT, x_forwarded_for=ELSEWHERE).status_code == 429
    assert sign_in(password=RIGHT, x_forwarded_for="10.0.0.3").status_code == 302


def test_a_forwarded_header_does_not_change_the_client_address(researcher, settings):
    for number in range(8):
        sign_in(x_forwarded_for=f"10.2.0.{number}")
    assert sign_in(x_forwarded_for="10.2.0.99").status_code == 429
    settings.TRUSTED_PROXIES = 1
    for number in range(8):
        sign_in(x_forwarded_for=f"10.2.0.{number}, {ELSEWHERE}")
    assert sign_in(x_forwarded_for=f"10.2.0.99, {ELSEWHERE}").status_code == 429


@pytest.mark.parametrize(
    ("proxies", "forwarded", "sender", "expected"),
    [
        (0, "1.1.1.1", "9.9.9.9", "9.9.9.9"),
        (1, "1.1.1.1", "9.9.9.9", "1.1.1.1"),
        (1, "6.6.6.6, 1.1.1.1", "9.9.9.9", "1.1.1.1"),
        (2, "6.6.6.6, 1.1.1.1, 8.8.8.8", "9.9.9.9", "1.1.1.1"),
        (2, "1.1.1.1", "9.9.9.9", "9.9.9.9"),
        (1, "", "9.9.9.9", "9.9.9.9"),
        (1, "unknown", "9.9.9.9", "9.9.9.9"),
        (0, "", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        (0, "", "::ffff:9.9.9.9", "9.9.9.9"),
        (0, "", "", None),
    ],
)
def test_as_many_forwarded_addresses_count_as_there_are_proxies(
    settings, proxies, forwarded, sender, expected
):
    settings.TRUSTED_PROXIES = proxies
    meta = {"REMOTE_ADDR": sender, "HTTP_X_FORWARDED_FOR": forwarded}
    assert client_address(RequestFactory().get("/", **meta)) == expected


def test_an_uncounted_proxy_is_warned_about(settings):
    settings.HTTPS, settings.TRUSTED_PROXIES = True, 0
    assert [warning.id for warning in proxies_are_counted()] == ["config.W001"]
    settings.TRUSTED_PROXIES = 1
    assert list(proxies_are_counted()) == []


@pytest.mark.parametrize("name", ["a\0b", "x" * 400])
def test_an_impossible_name_is_a_wrong_name(db, name):
    assert sign_in(name=name).status_code == 200


# Hashes -------------------------------------------------------------------------------------------


@pytest.fixture
def argon2(settings):
    """Use the real password hasher, because tests usually have a cheap one."""
    settings.PASSWORD_HASHERS = ["config.sign_in.LimitedArgon2"]


@pytest.fixture
def busy(argon2, researcher, monkeypatch):
    """Three simultaneous sign-ins, whose hashing ends with the test."""
    done, began, lock = threading.Event(), threading.Semaphore(0), threading.Lock()
    running, at_once, hashed = [], [], []

    def slow(self, password, salt):
        with lock:
            running.append(password)
            at_once.append(len(running))
        began.release()
        done.wait(30)
        with lock:
            running.remove(password)
        return f"argon2$of {password}"

    monkeypatch.setattr(Argon2PasswordHasher, "encode", slow)
    threads = [
        threading.Thread(target=lambda: hashed.append(make_password("a password")))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    assert began.acquire(timeout=30)
    assert began.acquire(timeout=30)
    assert not began.acquire(timeout=0.5)  # the third waits
    yield
    done.set()
    for thread in threads:
        thread.join(30)
    assert len(hashed) == 3  # so the third was hashed too
    assert max(at_once) == 2


def test_at_most_two_passwords_are_hashed_and_one_waits(busy):
    with pytest.raises(TooManyAttempts):
        make_password("a fourth")


def test_a_sign_in_during_hashing_is_asked_to_retry(busy):
    for name in ("ada", "unknown"):
        reply = sign_in(name=name, password=RIGHT)
        assert (reply.status_code, reply["Retry-After"]) == (429, "1")
        assert "Try again in 1 second" in " ".join(reply.content.decode().split())
    assert not attempts()


# What is kept -------------------------------------------------------------------------------------


def test_addresses_are_not_stored_even_after_a_failure(researcher):
    sign_in()
    sign_in(password=RIGHT)
    with connection.cursor() as cursor:
        cursor.execute("SELECT cache_key, value FROM shared_cache")
        stored = str(cursor.fetchall())
    assert attempts()
    assert HERE not in stored


def test_expired_sessions_are_deleted_at_the_next_sign_in(researcher):
    sign_in(password=RIGHT)
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    sign_in(password=RIGHT)
    assert Session.objects.count() == 1


# The password -------------------------------------------------------------------------------------


def test_a_researcher_without_staff_rights_changes_the_password(ada, researcher):
    address = reverse("password_change")
    assert f'href="{address}"' in ada.get(reverse("studies")).content.decode()
    assert ada.get(address).status_code == 200
    new = "a better horse"
    fields = {"oldpassword": RIGHT, "password1": new, "password2": new}
    reply = ada.post(address, fields | {"oldpassword": WRONG})
    assert "The password was not changed" in reply.content.decode()
    reply = ada.post(address, fields, follow=True)
    assert "Your password was changed." in reply.content.decode()
    researcher.refresh_from_db()
    assert researcher.check_password(new)


def test_changing_a_password_needs_a_sign_in(client, db):
    assert client.get(reverse("password_change"))["Location"].startswith(reverse("login"))

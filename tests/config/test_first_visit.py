"""The first visitor to an empty server creates an account with a code that the server printed."""

import threading

import pytest
from django.contrib.auth.models import User
from django.db import connection, connections
from django.test import Client
from django.urls import reverse

from config import users
from tasks.models import Installation

ADDRESS = "/first-owner/"


def fields(**changed) -> dict[str, str]:
    typed = {"code": users.first_owner_code(), "username": "ada", "email": "Ada@Example.org"}
    return typed | {"password1": "right horse", "password2": "right horse"} | changed


def test_an_empty_server_leads_to_the_first_account(client, db):
    assert f'href="{reverse("login")}"' in client.get("/").content.decode()
    reply = client.get(reverse("login"), follow=True)
    assert reply.redirect_chain[-1][0] == ADDRESS
    reply = client.get(reverse("studies"), follow=True)
    assert reply.redirect_chain[-1][0] == ADDRESS
    assert "This server has no accounts yet." in reply.content.decode()


def test_the_code_makes_one_account_with_all_permissions(client, db):
    typed = users.first_owner_code().lower().replace("-", " ")
    reply = client.post(ADDRESS, fields(code=typed))
    assert reply["Location"] == reverse("studies")
    assert client.get(reverse("studies")).status_code == 200
    owner = User.objects.get()
    assert (owner.username, owner.email) == ("ada", "ada@example.org")
    assert owner.is_superuser
    assert owner.check_password("right horse")


@pytest.mark.parametrize("wrong", [{"code": "ABCD-EFGH-IJKL-MNOP"}, {"password2": "another"}])
def test_a_wrong_code_or_password_makes_no_account(client, db, wrong):
    reply = client.post(ADDRESS, fields(**wrong))
    assert reply.status_code == 422
    (field,) = wrong
    assert f'id="id_{field}_error"' in reply.content.decode()
    assert not User.objects.exists()


def test_the_code_works_once_even_if_the_account_is_deleted(client, db):
    users.create_first_owner(User(username="ada"))
    assert client.get(ADDRESS).status_code == 404
    User.objects.all().delete()
    assert client.post(ADDRESS, fields(username="eve")).status_code == 404
    assert Client().get(reverse("login")).status_code == 200


def test_with_an_account_the_first_account_page_is_not_found(client, researcher):
    assert client.get(ADDRESS).status_code == 404
    assert client.post(ADDRESS, fields(username="eve")).status_code == 404
    assert User.objects.count() == 1


def test_every_worker_prints_the_same_code_until_it_is_used(client, db, capsys):
    users.say_first_owner_code()
    users.say_first_owner_code()
    printed = capsys.readouterr().err
    assert printed.count(users.first_owner_code()) == 2
    client.post(ADDRESS, fields())
    users.say_first_owner_code()
    assert capsys.readouterr().err == ""


def test_the_first_owner_code_is_not_stored(db):
    stored = str(Installation.objects.values().get())
    assert users.first_owner_code() not in stored
    assert users.first_owner_code().replace("-", "") not in stored


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_first_visits_at_once_make_one_account():
    names, replies = [f"owner-{number}" for number in range(4)], []
    sent = [fields(username=name, email="") for name in names]
    barrier = threading.Barrier(len(names))

    def visit(typed) -> None:
        barrier.wait()
        replies.append(Client().post(ADDRESS, typed).status_code)
        connections.close_all()

    threads = [threading.Thread(target=visit, args=[typed]) for typed in sent]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(replies) == [302, 404, 404, 404]
    assert User.objects.count() == 1


@pytest.mark.sqlite
def test_before_migrate_a_page_explains_what_to_do(db):
    """This runs on SQLite, because a failed statement on PostgreSQL would end the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE auth_user RENAME TO auth_user_gone")
        cursor.execute("DELETE FROM django_migrations WHERE app = 'tasks'")
    reply = Client(raise_request_exception=False).get(reverse("login"))
    assert reply.status_code == 503
    assert reply["Content-Type"].startswith("text/plain")
    assert "python manage.py migrate" in reply.content.decode()


def test_an_error_on_a_migrated_server_is_500(client, db, monkeypatch):
    monkeypatch.setattr(users, "awaits_first_owner", lambda: 1 / 0)
    assert Client(raise_request_exception=False).get(reverse("login")).status_code == 500

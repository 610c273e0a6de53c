"""API tokens are shown once and stored as hashes, and each opens only what its scope allows."""

import re
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import ApiToken, Role, Study
from annotation.study import team
from tests import factories

STUDIES = "/api/v1/studies/"
FIELDS = {"name": "nightly", "scopes": ["read", "run"], "study": "", "days": "30"}


@pytest.fixture(scope="module")
def stored(module_researcher):
    return factories.make_study(module_researcher, factories.make_task(), name="story").pk


@pytest.fixture(autouse=True)
def confirmed(ada):
    factories.confirm_password(ada)


@pytest.fixture
def study(db, stored):
    return Study.objects.get(pk=stored)


def made(client, **fields) -> str:
    """Make a token on the page, and return it as shown."""
    page = client.post(reverse("tokens"), FIELDS | fields)
    assert page.status_code == 201
    assert "no-store" in page["Cache-Control"]
    (token,) = re.findall(r"handful_[\w-]{43}", page.content.decode())
    return token


def get(address: str, token: str):
    return Client().get(address, headers={"Authorization": f"Bearer {token}"})


# Creating and revoking --------------------------------------------------------------------------


def test_a_token_is_shown_once_and_stored_as_its_hash(ada, study):
    token = made(ada)
    assert get(STUDIES, token).json()["results"][0]["name"] == "story"
    page = ada.get(reverse("your_account")).content.decode()
    assert token not in page
    assert "nightly" in page
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM annotation_apitoken")
        assert token not in repr(cursor.fetchall())


def test_the_form_names_what_is_missing(ada):
    page = ada.post(reverse("tokens"), {"name": "", "days": "30"})
    assert page.status_code == 422
    assert "Choose at least one scope." in page.content.decode()
    assert not ApiToken.objects.exists()


def test_a_token_for_a_foreign_study_cannot_be_made(ada, other_researcher):
    foreign = factories.make_study(other_researcher, factories.make_task(), name="foreign")
    assert ada.post(reverse("tokens"), FIELDS | {"study": foreign.pk}).status_code == 422


def test_researchers_see_and_revoke_only_their_own_tokens(ada, other_researcher):
    token = made(ada)
    row = ApiToken.objects.get()
    other = Client()
    other.force_login(other_researcher)
    assert "nightly" not in other.get(reverse("your_account")).content.decode()
    assert other.post(reverse("token_revoke", args=[row.pk])).status_code == 404
    assert get(STUDIES, token).status_code == 200
    ada.post(reverse("token_revoke", args=[row.pk]))
    assert get(STUDIES, token).status_code == 401
    assert "revoked" in ada.get(reverse("your_account")).content.decode()


@pytest.mark.parametrize(
    "wrong", [{"may_read": False}, {"expires_at": timezone.now() - timedelta(days=1)}]
)
def test_the_database_refuses_a_token_without_scope_or_time(researcher, wrong):
    _token, row = ApiToken.draw()
    row.owner, row.expires_at = researcher, timezone.now() + timedelta(days=1)
    for name, value in wrong.items():
        setattr(row, name, value)
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save()


# Access -------------------------------------------------------------------------------------------


def test_neither_a_password_nor_a_broken_token_opens_anything(study, researcher):
    refused = Client().get(STUDIES, headers={"Authorization": "Basic YWRhOnJpZ2h0IGhvcnNl"})
    assert refused.status_code == 401
    assert refused["WWW-Authenticate"] == "Bearer"
    for token in ("", "handful_x", "é", "a b"):
        assert get(STUDIES, token).status_code == 401


def test_a_token_in_the_address_opens_nothing(ada):
    assert Client().get(f"{STUDIES}?token={made(ada)}").status_code == 401


def test_an_expired_token_is_refused(researcher):
    headers = factories.bearer(researcher)
    later = timezone.now() + timedelta(hours=1)
    ApiToken.objects.update(created_at=later - timedelta(days=9), expires_at=later)
    assert Client().get(STUDIES, headers=headers).status_code == 200
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert Client().get(STUDIES, headers=headers).status_code == 401


def test_a_token_of_an_account_that_was_closed_opens_nothing(researcher):
    headers = factories.bearer(researcher)
    researcher.is_active = False
    researcher.save()
    assert Client().get(STUDIES, headers=headers).status_code == 401


def test_a_token_of_one_study_sees_no_other(researcher, study):
    factories.make_study(researcher, factories.make_task(name="other"), name="second")
    headers = factories.bearer(researcher, study=study)
    listed = Client().get(STUDIES, headers=headers).json()
    assert [row["name"] for row in listed["results"]] == ["story"]
    assert Client().get(f"{STUDIES}second/", headers=headers).status_code == 404


def test_a_scope_that_is_not_given_is_403_and_is_named(researcher, study):
    headers = factories.bearer(researcher, "pay")
    assert Client().get(f"{STUDIES}story/", headers=headers).status_code == 200
    refused = Client().get(f"{STUDIES}story/training/", headers=headers)
    assert refused.status_code == 403
    assert refused.json()["detail"] == "This token has the scopes pay; this requires read."


def test_a_token_allows_no_more_than_its_owners_role(study, researcher, other_researcher):
    headers = factories.bearer(other_researcher, "read", "run", "pay")
    address = f"{STUDIES}story/training/"
    assert Client().get(address, headers=headers).status_code == 404
    team.add(study, "grace", Role.PAYER, researcher)
    refused = Client().get(address, headers=headers)
    assert refused.status_code == 403
    assert "Your role in this study is payer." in refused.json()["detail"]


def test_the_last_use_is_written_at_most_once_an_hour(researcher):
    headers = factories.bearer(researcher)
    Client().get(STUDIES, headers=headers)
    first = ApiToken.objects.get().last_used_at
    Client().get(STUDIES, headers=headers)
    assert ApiToken.objects.get().last_used_at == first
    ApiToken.objects.update(last_used_at=first - timedelta(hours=1, minutes=1))
    Client().get(STUDIES, headers=headers)
    assert ApiToken.objects.get().last_used_at >= first


@pytest.mark.long
def test_the_101st_request_in_a_minute_is_429_with_retry_after(researcher, other_researcher):
    client, headers = Client(), factories.bearer(researcher)
    for _ in range(100):
        assert client.get(STUDIES, headers=headers).status_code == 200
    refused = client.get(STUDIES, headers=headers)
    assert refused.status_code == 429
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert refused.json()["status"] == 429
    assert client.get(STUDIES, headers=factories.bearer(other_researcher)).status_code == 200


# Errors -------------------------------------------------------------------------------------------


def test_errors_have_the_problem_details_format(researcher):
    headers = factories.bearer(researcher)
    for address, status, code in [
        (f"{STUDIES}unknown/", 404, "not_found"),
        ("/api/v1/nowhere/", 404, "not_found"),
        ("/api/studies/", 404, "not_found"),
        (f"{STUDIES}?limti=3", 400, "invalid"),
    ]:
        reply = Client().get(address, headers=headers)
        assert reply.status_code == status
        assert reply["Content-Type"] == "application/problem+json"
        problem = reply.json()
        assert (problem["status"], problem["code"]) == (status, code)
        assert problem["detail"].endswith(".")
    assert problem["fields"] == {
        "limti": ["Unknown parameter 'limti'. Known: cursor, page_size, status."]
    }
    assert Client().get(STUDIES)["Content-Type"] == "application/problem+json"


def test_the_schema_documents_the_token_and_every_error(researcher):
    schema = Client().get("/api/v1/schema/?format=json", headers=factories.bearer(researcher))
    document = schema.json()
    assert document["openapi"].startswith("3.1")
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    for path in document["paths"].values():
        for operation in path.values():
            assert {"400", "401", "403", "404", "429"} <= set(operation["responses"])
            assert {"200", "201", "202", "204"} & set(operation["responses"])


def test_the_schema_describes_amounts_as_texts_without_internal_words(researcher):
    schema = Client().get("/api/v1/schema/?format=json", headers=factories.bearer(researcher))
    shapes = schema.json()["components"]["schemas"]
    reward = ("ProlificStudyDetail", "reward")
    for name, field in (("Bonus", "amount"), ("Budget", "amount"), reward):
        assert shapes[f"{name}Body"]["properties"][field]["type"] == "string", name
    assert "misspelt parameters" not in schema.content.decode()
    assert "access.py" not in schema.content.decode()
    assert "posts.py" not in schema.content.decode()

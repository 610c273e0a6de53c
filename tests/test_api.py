"""The API: what the pages show, for programs; somebody else's study is not found."""

import base64

import pytest
from django.core.management import call_command
from django.urls import reverse

from tests import factories


@pytest.fixture
def study(researcher):
    study = factories.make_study(researcher, factories.make_task(), shots=[0, 2], annotators=2)
    for scenario in study.scenarios.all():
        factories.work_through(factories.seat(scenario))
    return study


@pytest.fixture
def basic():
    return {"Authorization": "Basic " + base64.b64encode(b"ada:right horse").decode()}


def test_a_program_reads_the_table_with_name_and_password(client, study, basic):
    address = reverse("api_human_performance", args=[study.name])
    rows = client.get(address, headers=basic).json()
    assert [(row["kind"], row["shots"], row["mean"], row["n"]) for row in rows] == [
        ("person", 0, 100.0, 1),
        ("person", 2, 100.0, 1),
    ]
    assert rows[0]["sd_ddof1"] is None


def test_my_studies_and_one_of_them(client, study, basic, other_researcher):
    factories.make_study(other_researcher, factories.make_task())
    listed = client.get(reverse("api_studies"), headers=basic).json()
    assert [one["name"] for one in listed] == [study.name]
    one = client.get(reverse("api_study", args=[study.name]), headers=basic).json()
    assert one == listed[0]
    assert one["manifest_hash"] == study.manifest_hash


def test_the_findings_have_no_nan(client, study, basic):
    (found,) = client.get(reverse("api_analysis", args=[study.name]), headers=basic).json()
    assert set(found) == {"kind", "intervals", "agreement", "aggregates", "contrasts"}
    assert found["intervals"][0]["t_low"] is None


NAMES = ["api_study", "api_human_performance", "api_analysis"]


@pytest.mark.parametrize("name", NAMES)
def test_nobody_gets_401_and_somebody_else_404(client, study, other_researcher, name):
    address = reverse(name, args=[study.name])
    assert client.get(address).status_code == 401
    client.force_login(other_researcher)
    assert client.get(address).status_code == 404
    client.force_login(study.owner)
    assert client.get(address).status_code == 200
    assert client.post(address).status_code in (403, 405)


def test_the_schema_is_valid_and_names_every_address(client, researcher, tmp_path):
    file = tmp_path / "schema.yml"
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(file))
    text = file.read_text()
    assert "/api/studies/{name}/human-performance/" in text
    assert "/api/studies/{name}/analysis/" in text
    assert client.get(reverse("schema")).status_code == 401
    client.force_login(researcher)
    assert client.get(reverse("api_docs")).status_code == 200

"""Changes to a running study, through the client and a server over HTTP."""

import pytest
from handful import ApiError
from seats import go_through, join


@pytest.fixture(scope="module")
def draft():
    """A design from which each test creates its study."""
    return {
        "tasks": ["demo-sentiment"], "shots": [0], "annotators": 1, "hide_test_scores": False,
        "programs_as_people": True,
    }  # fmt: skip


@pytest.fixture
def study(payer, draft, request):
    name = request.node.name.removeprefix("test_").replace("_", "-")[:40]
    return payer.studies.create({**draft, "name": name}).open()


def test_seats_can_be_added(study):
    (before,) = study.scenarios()
    study.add_seats(before["id"], 2)
    (after,) = study.scenarios()
    assert after["seats"] == before["seats"] + 2


def somebody_finishes(server, study) -> str:
    """Complete a person's seat by program; return the pseudonym."""
    seat, state = join(server[0], study.link)
    with seat:
        assert go_through(seat, state)[-1] == "finished"
    (one,) = study.participations(kind="person", status="completed")
    return one["pseudonym"]


def test_seats_added_after_results_are_confirmed(server, study):
    somebody_finishes(server, study)
    (scenario,) = study.scenarios()
    with pytest.raises(ApiError, match="results"):
        study.add_seats(scenario["id"], 1)
    study.add_seats(scenario["id"], 1, confirmed=True)
    assert [row["seats"] for row in study.scenarios()] == [scenario["seats"] + 1]


def test_a_bonus_needs_a_token_with_the_pay_scope_and_a_reason(server, study, client):
    someone = somebody_finishes(server, study)
    with pytest.raises(ApiError) as refused:
        client.studies[study.name].bonus(someone, "1.50", "A thorough comment.")
    assert refused.value.status == 403
    with pytest.raises(ApiError) as refused:
        study.bonus(someone, "1.50", "")
    assert "reason" in refused.value.fields
    study.bonus(someone, "1.50", "A thorough comment.")

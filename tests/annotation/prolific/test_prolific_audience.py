"""Studies on Prolific are restricted to the design's audience by Prolific's own filter ids."""

import pytest
from django.urls import reverse

from annotation.pay.ledger import in_currency
from annotation.prolific import drafts, studies
from annotation.prolific.drafts import PlanError
from tests.annotation.prolific.fixtures import HOST
from tests.annotation.study.test_audience import AUDIENCE, make_study


def published(study, researcher):
    (draft,) = drafts.plan(study, 0, researcher)
    studies.create(draft, HOST)
    return draft


def test_the_audience_is_sent_with_prolifics_ids(fake, researcher):
    there = fake.study(published(make_study(researcher), researcher).external_id)
    sent = {each["filter_id"]: each for each in there["filters"]}
    assert sent["current-country-of-residence"]["selected_values"] == ["0", "92"]
    assert sent["fluent-languages"]["selected_values"] == ["19"]
    assert sent["age"]["selected_range"] == {"lower": 18, "upper": 65}
    assert sent["approval_rate"]["selected_range"] == {"lower": 95}
    assert sent["sex"] == {
        "filter_id": "sex", "selected_values": ["0", "1"], "weightings": {"1": 50, "0": 50},
    }  # fmt: skip
    assert sent["handedness"]["selected_values"] == ["0"]
    assert "participant_group_blocklist" in sent
    assert there["content_warnings"] == ["sensitive"]
    assert there["content_warning_details"] == AUDIENCE["content_warning"]


def test_without_an_audience_nothing_of_it_is_sent(fake, researcher):
    there = fake.study(published(make_study(researcher, {}), researcher).external_id)
    assert [each["filter_id"] for each in there["filters"]] == ["participant_group_blocklist"]
    assert "content_warnings" not in there


@pytest.mark.long
@pytest.mark.parametrize(
    ("audience", "said"),
    [
        ({"countries": ["United Kingdon"]}, "countries: .* “United Kingdon”.*United Kingdom"),
        ({"languages": ["Elvish"]}, "languages: .* no choice “Elvish”"),
    ],
)
def test_an_unlisted_audience_is_reported_and_nothing_is_created(
    fake, researcher, payer, audience, said
):
    study = make_study(researcher, audience)
    (draft,) = drafts.plan(study, 0, researcher)
    with pytest.raises(PlanError, match=said):
        studies.create(draft, HOST)
    assert fake.studies() == []
    draft.refresh_from_db()
    assert draft.status == "not created"
    address = reverse("recruit", args=[study.name], query={"show": "platforms", "ask": "prolific"})
    page = payer.get(address, follow=True).content.decode()
    assert "Audience," in page


def test_later_parts_are_only_for_qualified_participants(fake, researcher):
    study = make_study(researcher)
    for draft in drafts.plan(study, 1, researcher):
        studies.create(study.prolific_studies.get(pk=draft.pk), HOST)
    first, second = (fake.study(there.external_id) for there in study.prolific_studies.all())
    assert len(first["filters"]) == 7
    assert [each["filter_id"] for each in second["filters"]] == ["participant_group_allowlist"]
    assert first["content_warnings"] == second["content_warnings"] == ["sensitive"]


def test_estimated_people_and_cost_are_what_prolific_charges(fake, researcher, payer):
    study = make_study(researcher)
    (draft,) = drafts.plan(study, 0, researcher)
    address = reverse("recruit", args=[study.name], query={"show": "platforms"})
    assert "participants\n  on Prolific match" not in payer.get(address).content.decode()
    page = " ".join(payer.get(f"{address}&ask=prolific").content.decode().split())
    ((_draft, eligible, cost),) = studies.ask(study)
    assert 0 < eligible < 130_000
    assert f"{eligible} participants on Prolific match the audience" in page
    assert f"cost {in_currency(cost)} GBP, including fees" in page
    studies.create(draft, HOST)
    assert cost == fake.cost(fake.study(draft.external_id))["total_cost"]

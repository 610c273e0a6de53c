"""What pages have in common: what they load, and how their templates are written."""

import pytest
from django.urls import reverse
from lxml import html

from tests import factories


def assets(response) -> list[tuple[str, str]]:
    """Each style sheet, script and other linked file of a page, in its order."""
    page = html.fromstring(response.content)
    linked = page.xpath("//link | //script | //meta[@name]")
    return [
        (part.tag + " " + part.get("rel", part.get("type", "")), part.get(name))
        for part in linked
        for name in ("href", "src", "content")
        if part.get(name)
    ]


@pytest.mark.parametrize("card", [{}, {"labels": factories.LABELS}])
def test_a_preview_loads_exactly_what_annotators_load(client, researcher, card):
    study = factories.make_study(researcher, factories.make_task(**card), shots=[2])
    participation = factories.seat(study.scenarios.get())
    work = reverse("work", args=[participation.token])
    seen_by_annotator = assets(client.get(work))
    assert seen_by_annotator

    client.force_login(researcher)
    address = reverse(
        "scenario_preview", args=[study.name, study.scenarios.get().pk, "training", 0]
    )
    preview = client.get(address)
    assert assets(preview) == seen_by_annotator
    assert assets(client.get(work)) == seen_by_annotator
    assert b'aria-label="Site"' not in preview.content
    assert assets(client.get(reverse("studies"))) != seen_by_annotator

"""The compressed size of a study's pages at the first visit: all but Figures below 100 kB."""

import gzip
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.urls import reverse

from annotation.web.menu import TABS
from tests import factories

MOST = 100_000  # bytes
HASH = re.compile(r"\.[0-9a-f]{12}(?=\.\w+$)")
ADDRESSES = [
    (page.address, show)
    for pages in TABS.values()
    for page in pages
    for show, *_ in page.views or [("",)]
]


@pytest.fixture
def study(researcher, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    study = factories.make_study(researcher, factories.make_task(), shots=[0, 2], annotators=2)
    factories.work_through(factories.seat(study.scenarios.get(shots=2)))
    return study


def weight(client, address: str) -> int:
    """Return the compressed size of a page and of every own file that it names."""
    html = client.get(address).content
    named = set(re.findall(r'(?:href|src)="/static/([^"]+\.(?:css|js|svg))"', html.decode()))
    assert named
    # An earlier browser test in this process may have given the files hashed names.
    files = [found for name in named if (found := finders.find(HASH.sub("", name)))]
    assert len(files) == len(named)
    return len(gzip.compress(html)) + sum(
        len(gzip.compress(Path(path).read_bytes())) for path in files
    )


@pytest.mark.long
def test_every_page_but_figures_is_below_100_kb_at_first_visit(ada, study):
    weights = {
        (name, show): weight(ada, reverse(name, args=[study.name], query={"show": show}))
        for name, show in ADDRESSES
    }
    heavy = {view for view, size in weights.items() if size >= MOST}
    assert heavy == {("human_performance", "figures")}, weights

"""The address of a list determines search, filter, order, page and CSV, the same everywhere."""

from dataclasses import dataclass

import pytest
from django.http import QueryDict

from tasks import listing
from tasks.columns import Column


@dataclass(frozen=True)
class Fruit:
    name: str
    weight: float


FRUIT = [
    Fruit("Pear", 3.0), Fruit("apple", 10.0), Fruit("Fig", float("nan")), Fruit("Plum", 2.5),
]  # fmt: skip
COLUMNS = [Column("name", "Fruit"), Column("weight", "Weight", "How heavy.", "g")]
HEAVY = {"heavy": ("Heavy", lambda fruit: fruit.weight >= 3)}


def seen(query: str = "", **options) -> listing.Listing[Fruit]:
    return listing.listing(
        QueryDict(query), FRUIT, COLUMNS, lambda fruit: fruit.name, filters=HEAVY, **options
    )


def names(query: str) -> list[str]:
    return [fruit.name for fruit in seen(query).page]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["Pear", "apple", "Fig", "Plum"]),
        ("q=P", ["Pear", "apple", "Plum"]),
        ("q=p+AR", ["Pear"]),
        ("q=nothing", []),
        ("sort=name", ["apple", "Fig", "Pear", "Plum"]),
        ("sort=-name", ["Plum", "Pear", "Fig", "apple"]),
        # Numbers are sorted as numbers; rows without a value come last in both directions.
        ("sort=weight", ["Plum", "Pear", "apple", "Fig"]),
        ("sort=-weight", ["apple", "Pear", "Plum", "Fig"]),
        ("show=heavy", ["Pear", "apple"]),
        ("show=heavy&sort=-weight&q=p", ["apple", "Pear"]),
        ("sort=price&show=cheap&page=many", ["Pear", "apple", "Fig", "Plum"]),
    ],
)
def test_the_query_selects_sorts_and_searches_rows(query, expected):
    assert names(query) == expected


def test_page_links_retain_sort_and_search():
    second = seen("sort=name&q=p&page=2", per_page=2)
    assert [fruit.name for fruit in second.page] == ["Plum"]
    assert second.queries["previous"] == "?sort=name&q=p&page=1"
    # A different order or filter starts at the first page.
    assert second.headings[1].query == "?sort=-weight&q=p"
    assert [choice.query for choice in second.filters] == [
        "?sort=name&q=p",
        "?sort=name&q=p&show=heavy",
    ]
    assert second.hidden_fields == [("sort", "name")]


def test_a_second_click_on_a_head_reverses_the_order():
    by_weight = seen("sort=-weight").headings[1]
    assert (by_weight.aria_sort, by_weight.query) == ("descending", "?sort=weight")
    assert seen("").headings[0].query == "?sort=name"
    assert seen("sort=name").headings[0].aria_sort == "ascending"


def test_each_filter_states_its_rows_within_the_search():
    assert [(choice.label, choice.count) for choice in seen("q=p").filters] == [
        ("All", 3), ("Heavy", 2),
    ]  # fmt: skip


def test_the_csv_has_all_selected_rows_with_all_digits():
    asked = seen("sort=-weight&q=p&page=2&format=csv", per_page=1)
    assert listing.wants_csv(QueryDict("format=csv"))
    lines = asked.as_csv("fruit.csv").content.decode().splitlines()
    assert lines == ["name,weight", "apple,10.0", "Pear,3.0", "Plum,2.5"]


def test_a_formula_is_escaped_in_the_csv():
    formula = Fruit("=HYPERLINK(1)", 1.0)
    asked = listing.listing(QueryDict("format=csv"), [formula], COLUMNS, lambda fruit: fruit.name)
    assert asked.as_csv("fruit.csv").content.decode().splitlines()[1] == "'=HYPERLINK(1),1.0"


@pytest.mark.parametrize(
    ("query", "expected", "counts"),
    [
        ("", ["Pear", "apple", "Fig"], {"All": 3, "Heavy": 2, "Archived": 1}),
        ("show=archived", ["Plum"], {"All": 3, "Heavy": 2, "Archived": 1}),
        ("q=plum", [], {"All": 0, "Heavy": 0, "Archived": 1}),
        ("q=pear&show=archived", ["Pear"], {"All": 1, "Heavy": 1}),
    ],
)
def test_archived_rows_are_shown_only_by_their_filter(query, expected, counts):
    shown = seen(query, is_archived=lambda fruit: fruit.name == "Plum")
    assert [fruit.name for fruit in shown.page] == expected
    assert {choice.label: choice.count for choice in shown.filters} == counts

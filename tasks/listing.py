"""Search, filters, sorting, pagination and CSV export for all long lists.

The list is determined by the query (`q`, `show`, `sort`, `page`, `format`), so its URL can be
shared. Unknown values are ignored.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.core.paginator import Page, Paginator
from django.http import HttpResponse, QueryDict

from tasks.columns import Column, in_files, on_page
from tasks.csv_files import cell, csv_download, no_formula

PER_PAGE = 50
CSV = "csv"
ARCHIVED = "archived"  # filter for archived rows, if any
Row = TypeVar("Row")
# Maps names of filters to (text, condition). The condition is None if it leads to another list.
Filters = Mapping[str, tuple[str, Callable[[Row], bool] | None]]


@dataclass(frozen=True)
class Heading:
    """A column's heading and sorting query. `number` (1-based) also numbers its explanation."""

    number: int
    column: Column
    query: str
    aria_sort: str  # ascending, descending or ""

    @property
    def is_number(self) -> bool:
        return bool(self.column.unit)


@dataclass(frozen=True)
class Filter:
    """A filter for rows, with its query and, if counted, the number of rows."""

    name: str
    label: str
    query: str
    count: int | None
    is_chosen: bool


@dataclass(frozen=True)
class Listing(Generic[Row]):
    columns: list[Column]
    rows: list[Row]
    page: Page
    query: str
    filters: list[Filter]
    headings: list[Heading]
    hidden_fields: list[tuple[str, str]]  # parameters that are preserved in a new search
    queries: dict[str, str]  # for "csv", and for the "previous" and "next" page

    @property
    def cells(self) -> list[tuple[Row, list[tuple[str, bool]]]]:
        """Return each row on the page with its cells as (text, whether it is a number)."""
        fields = on_page(self.columns)
        return [
            (row, [(column.text(row), bool(column.unit)) for column in fields]) for row in self.page
        ]

    def as_csv(self, filename: str) -> HttpResponse:
        columns = in_files(self.columns)
        header = [column.name for column in columns]
        rows = ([_cell(column.stored(row)) for column in columns] for row in self.rows)
        return csv_download(filename, header, rows)


def wants_csv(params: QueryDict) -> bool:
    return params.get("format") == CSV


def listing(
    params: QueryDict,
    rows: Iterable[Row],
    columns: Sequence[Column],
    text: Callable[[Row], str],
    filters: Filters[Row] | None = None,
    per_page: int = PER_PAGE,
    is_archived: Callable[[Row], bool] = lambda _row: False,
    by: str = "show",
) -> Listing[Row]:
    """Select rows as determined by the query. `rows` are in the default order.

    All words are searched for in `text`, ignoring case. Archived rows are shown only if their
    filter is chosen. `by` is the parameter that names the filter.
    """
    query = " ".join(params.get("q", "").split())
    terms = query.casefold().split()

    def is_found(row: Row) -> bool:
        searched = text(row).casefold()
        return all(term in searched for term in terms)

    matches = list(filter(is_found, rows) if terms else rows)
    shelved = [row for row in matches if is_archived(row)]
    active = [row for row in matches if not is_archived(row)]
    choices = {"": ("All", lambda _row: True)} | dict(filters or {})
    if shelved:
        choices[ARCHIVED] = ("Archived", is_archived)
    selected = params.get(by, "")
    selected = selected if selected in choices else ""
    offered = [
        Filter(
            name,
            label,
            _query(params, **{by: name}),
            sum(map(keeps, shelved if name == ARCHIVED else active)) if keeps else None,
            name == selected,
        )
        for name, (label, keeps) in choices.items()
    ]
    active = list(filter(choices[selected][1], shelved if selected == ARCHIVED else active))
    sort = params.get("sort", "")
    by_name = {column.name: column for column in columns if column.name and column.heading}
    column = by_name.get(sort.removeprefix("-"))
    if column is not None:
        active = ordered(active, column, is_descending=sort.startswith("-"))
    page = Paginator(active, per_page).get_page(params.get("page"))
    return Listing(
        list(columns),
        active,
        page,
        query,
        offered if len(offered) > 1 else [],
        [_heading(params, list(columns).index(each) + 1, each, sort) for each in on_page(columns)],
        [(key, str(value)) for key, value in params.items() if key not in ("q", "page", "format")],
        {
            "csv": _query(params, format=CSV),
            "previous": _query(params, page=page.number - 1),
            "next": _query(params, page=page.number + 1),
        },
    )


def ordered(rows: Iterable[Row], column: Column, is_descending: bool) -> list[Row]:
    """Sort rows by a column, with rows that have no value last in either order."""
    values = [(row, _plain(column.value(row))) for row in rows]
    present = [(row, value) for row, value in values if value not in (None, "")]
    present = [(row, v.casefold() if isinstance(v, str) else v) for row, v in present]
    present.sort(key=lambda pair: pair[1], reverse=is_descending)
    return [row for row, _ in present] + [row for row, value in values if value in (None, "")]


def _plain(value: Any) -> Any:
    """Return None for NaN, because NaN is not equal to itself."""
    return None if isinstance(value, float) and value != value else value


def _cell(value: Any) -> Any:
    """Format a value for files that people read. NaN is empty, and text is never a formula."""
    text = cell(_plain(value))
    return no_formula(text) if isinstance(text, str) else text


def _heading(params: QueryDict, number: int, column: Column, sort: str) -> Heading:
    """Build a heading. The first click sorts numbers in descending order, text in ascending."""
    first, second = (f"-{column.name}", column.name)
    if not column.unit:
        first, second = second, first
    current = {column.name: "ascending", f"-{column.name}": "descending"}.get(sort, "")
    query = _query(params, sort=second if sort == first else first) if column.name else ""
    return Heading(number, column, query, current if column.name else "")


def _query(params: QueryDict, **changes: object) -> str:
    """Return the query with these changes. A new order or filter starts on the first page."""
    query = params.copy()
    for key in ("page", "format"):
        query.pop(key, None)
    for key, value in changes.items():
        query[key] = str(value)
        if value == "":
            del query[key]
    return "?" + query.urlencode()

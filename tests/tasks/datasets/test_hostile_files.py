"""Any bytes give either rows or an error that names the file, and nothing else."""

import contextlib
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tasks import check_process
from tasks.cards import CardError
from tasks.datasets.kinds import Columns
from tasks.datasets.making import Plan, TaskSpec, make
from tasks.datasets.reading import Reading, read
from tasks.datasets.table import Table
from tasks.formats import FormatError
from tests.tasks.datasets import files

OTHERS = ("data", "annotations", "doc_id", "doc", "target", "arguments", "filtered_resps")
ENDINGS = ("csv", "tsv", "json", "jsonl", "conll", "parquet", "xlsx")
FEW = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
# JSON values, including those that a column of texts should never have.
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["start", "end", "label", "labels", "text", "answer_start", "data",
                         "annotations", "result", "type", "value", "choices", "x"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


def outcome(path: Path, **how) -> Table | FormatError:
    try:
        return read(path, Reading(**how))
    except FormatError as error:
        return error


def is_right(result: Table | FormatError, path: Path) -> bool:
    return isinstance(result, Table) or path.name.split(".")[0] in str(result)


@FEW
@given(st.sampled_from(ENDINGS), st.binary(max_size=300))
@example("csv", b"\xff\xfe\x00")
@example("jsonl", b'{"a": 1e400}')
@example("conll", b"#\n\n# O\n")
@example("tsv", b"\xef\xbb\xbf")
def test_any_bytes_give_rows_or_an_error_with_the_file_name(ending, content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x.{ending}"
        path.write_bytes(content)
        assert is_right(outcome(path), path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    paths = files.write_all(folder / "f", files.ROWS)
    return {"xlsx": paths["xlsx"], "parquet": paths["parquet"]}


@FEW
@given(
    st.sampled_from(["xlsx", "parquet"]), st.integers(0, 10**6), st.binary(min_size=1, max_size=9)
)
def test_a_damaged_file_gives_rows_or_an_error(whole, kind, place, damage):
    content = bytearray(whole[kind].read_bytes())
    at = place % len(content)
    content[at : at + len(damage)] = damage
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x.{kind}"
        path.write_bytes(bytes(content))
        assert is_right(outcome(path), path)


@pytest.mark.long
@FEW
@given(
    st.sampled_from(["jsonl", "doccano", "label-studio"]),
    st.sampled_from(["choice", "spans"]),
    st.lists(
        st.fixed_dictionaries(
            {"text": VALUES, "label": VALUES},
            optional=dict.fromkeys(OTHERS, VALUES),
        ),
        min_size=1, max_size=4,
    ),
)  # fmt: skip
def test_any_values_give_a_task_or_an_error(form, kind, rows):
    columns = Columns(kind, ("text",), ("label",))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.json"
        path.write_text(
            json.dumps(rows) if form == "label-studio" else "\n".join(map(json.dumps, rows))
        )
        wanted = TaskSpec("x", columns, Plan((1,), 1, 1, 1), Reading(format=form))
        with contextlib.suppress(FormatError, CardError):
            assert len(make(path, wanted).files) == 2
        with contextlib.suppress(FormatError):
            assert "columns" in check_process.columns(str(path), {"format": form})

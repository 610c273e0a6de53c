"""Claims with hundreds of cases: `make test` runs a sample, the long suites run all."""

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(step: int, cases: Iterable[Any]) -> list[Any]:
    """Return the cases as parameters; mark all but the first of each `step` as long."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=[pytest.mark.long] if index % step else [],
        )
        for index, case in enumerate(cases)
    ]

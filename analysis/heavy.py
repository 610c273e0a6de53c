"""The only door to numpy, pandas, scipy and Altair: each is loaded when it is first used.

Together they take 165 MB and most of the start of a process. A server process that only serves
annotators never needs them (tests/analysis/test_heavy.py). Modules that annotate with their types
say ``from __future__ import annotations``, so that a signature loads nothing.

``importlib.util.LazyLoader``, and lazy_loader with it, is not safe between threads before Python
3.12.3: a second thread can see a module half loaded. Here the import itself is the ordinary one,
with its lock.

``scipy.stats`` is not here: its import took most of the first report of a process. Quantiles and
tails are those of ``scipy.special``, which it uses itself.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["alt", "np", "optimize", "pd", "special"]


class Heavy(ModuleType):
    """A module that is imported when an attribute of it is first asked for."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)  # the next look-up does not come here
        return value


if TYPE_CHECKING:
    import altair as alt
    import numpy as np
    import pandas as pd
    from scipy import optimize, special
else:
    alt, np, pd = Heavy("altair"), Heavy("numpy"), Heavy("pandas")
    optimize, special = Heavy("scipy.optimize"), Heavy("scipy.special")

"""Lazy imports of numpy, pandas, scipy and Altair, which other modules must import from here.

Together they take up 165 MB and most of a process's startup time. A server process that only serves
annotators never needs them (tests/analysis/test_heavy.py). Modules that annotate with their types
use ``from __future__ import annotations``, so that a signature does not load them.

``importlib.util.LazyLoader``, and so lazy_loader, is not thread-safe before Python 3.12.3: a second
thread can see a partially loaded module. Here the normal import runs, with its lock.

``scipy.stats`` is left out: its import took up most of the time for a process's first report.
Quantiles and tails come from ``scipy.special``, which it uses itself.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["alt", "np", "optimize", "pd", "special"]


class Heavy(ModuleType):
    """A module that is imported on the first access to an attribute."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)  # the next access does not call __getattr__
        return value


if TYPE_CHECKING:
    import altair as alt
    import numpy as np
    import pandas as pd
    from scipy import optimize, special
else:
    alt, np, pd = Heavy("altair"), Heavy("numpy"), Heavy("pandas")
    optimize, special = Heavy("scipy.optimize"), Heavy("scipy.special")

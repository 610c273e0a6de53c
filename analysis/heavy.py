"""Lazy imports of numpy and pandas. Other modules must import them from here.

Together they take up 40 MB and most of a process's startup time, and a process that only serves
annotators never needs them (tests/analysis/test_heavy.py). Modules whose annotations mention their
types use ``from __future__ import annotations``, so that signatures do not load them.

``importlib.util.LazyLoader``, which lazy_loader also uses, is not thread-safe before Python 3.12.3:
a second thread can see a partially loaded module. The import here is the normal, locked one.
"""

import os
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

# With small products, threads mostly wait for each other, and servers run several processes anyway.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
__all__ = ["np", "pd"]


class Heavy(ModuleType):
    """A module that is imported when one of its attributes is first accessed."""

    def __getattr__(self, name: str) -> Any:
        module = import_module(self.__name__)
        if self.__name__ == "pandas":  # the same with and without pyarrow, using less memory
            module.options.mode.string_storage = "python"
        value = getattr(module, name)
        setattr(self, name, value)  # later accesses do not call __getattr__
        return value


if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
else:
    np, pd = Heavy("numpy"), Heavy("pandas")

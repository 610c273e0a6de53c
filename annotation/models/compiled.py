"""Queries whose SQL is written once in a process.

For what runs with every answer that arrives: Django takes longer to write such a query than the
database takes to answer it (benchmarks/README.md).
"""

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.db import connections
from django.db.models import Model, QuerySet
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError

Row = TypeVar("Row", bound=Model)
# Stands where the key of the rows will, a number or a text: no row has it.
NOBODY = "-1"


class CompiledQuery(Generic[Row]):
    """The rows that belong to a key.

    `described` gives their queryset. It is asked once, so it may depend on the key alone.
    """

    def __init__(self, described: Callable[[Any], "QuerySet[Row]"]) -> None:
        self.described = described

    @cached_property
    def _compiled(self) -> tuple["QuerySet[Row]", SQLCompiler, str, list[object]]:
        queryset = self.described(NOBODY)
        compiler = queryset.query.get_compiler(queryset.db)
        sql, params = compiler.as_sql()
        # That of the thread that asked first, which would never be let go.
        del compiler.connection
        return queryset, compiler, sql, list(params)

    def rows(self, key: int | str) -> list[Row]:
        """The rows of that key, as `list(described(key))` would read them now.

        Raises TransactionManagementError where rows are to be locked outside of a transaction.
        """
        queryset, compiler, sql, params = self._compiled
        compiler = copy.copy(compiler)
        compiler.connection = connections[queryset.db]
        if queryset.query.select_for_update and compiler.connection.get_autocommit():
            raise TransactionManagementError("A lock needs a transaction that it lasts for.")
        own = tuple(key if str(param) == NOBODY else param for param in params)
        queryset = queryset.all()
        # On these two objects alone, which are of this call.
        vars(compiler)["as_sql"] = lambda *_args, **_options: (sql, own)
        vars(queryset.query)["get_compiler"] = lambda *_args, **_options: compiler
        return list(queryset)

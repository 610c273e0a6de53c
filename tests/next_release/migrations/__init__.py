"""The migrations of this release, and one more."""

import annotation.migrations

__path__ = [*annotation.migrations.__path__, *__path__]

"""The libraries of the tools that labs use, in an environment of their own (make test-tools)."""

pytest_plugins = ["tests.conftest"]

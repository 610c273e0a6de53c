"""Libraries of other tools, in a separate environment (make test-tools)."""

pytest_plugins = ["tests.conftest"]

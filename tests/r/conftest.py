"""R, with lme4 and lmerTest, on what a release bundle holds."""

pytest_plugins = ["tests.conftest"]

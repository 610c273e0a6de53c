"""R with lme4 and lmerTest, on the content of a release bundle."""

pytest_plugins = ["tests.conftest"]

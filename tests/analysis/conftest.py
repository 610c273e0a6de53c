"""Studies that several modules in this folder share."""

from tests.analysis.five_studies import five  # noqa: F401, a fixture

"""Studies that several modules of this folder read."""

from tests.analysis.five_studies import five  # noqa: F401, a fixture

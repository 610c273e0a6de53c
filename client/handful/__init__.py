"""Python client for Handful.

Start with `Client`, or with `Participation` to take part in a study. The server computes all
results, which you can check with verify.py in the export.
"""

from handful.client import Client
from handful.connection import ApiError, HandfulError, JobFailed, NotReachable, Rows
from handful.participation import Participation
from handful.studies import Study

__all__ = [
    "ApiError", "Client", "HandfulError", "JobFailed", "NotReachable", "Participation", "Rows",
    "Study",
]  # fmt: skip

"""The client of Handful: start with `Client`, or with `Participation` to take part.

The client computes no results; the server computes them, and the export's verify.py checks them.
"""

from handful.client import Client
from handful.connection import ApiError, HandfulError, JobFailed, NotReachable, Rows
from handful.participation import Participation
from handful.studies import Study

__all__ = [
    "ApiError",
    "Client",
    "HandfulError",
    "JobFailed",
    "NotReachable",
    "Participation",
    "Rows",
    "Study",
]

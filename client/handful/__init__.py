"""The client of Handful: begin with `Client`, or with `Participation` to take part.

Nothing here computes a result: the server does, and the export's verify.py checks it.
"""

from handful.client import Client
from handful.errors import ApiError, HandfulError, JobFailed, NotReachable
from handful.participation import Participation
from handful.rows import Rows
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

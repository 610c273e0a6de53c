"""Python client for Handful.

Start with `Client`. The server computes all results, which you can check with verify.py in the
export.
"""

from handful.client import Client
from handful.connection import ApiError, HandfulError, JobFailed, NotReachable, Rows
from handful.studies import Study

__all__ = ["ApiError", "Client", "HandfulError", "JobFailed", "NotReachable", "Rows", "Study"]

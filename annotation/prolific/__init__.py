"""Integration with Prolific: arrivals, API, studies and submissions.

Start with client.py and sync.py. Participants arrive through adapter.py. An annotator's request
never waits for Prolific.
"""

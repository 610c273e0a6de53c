"""Integration with Prolific: arrivals, API, studies and submissions.

Read client.py and sync.py first. adapter.py receives participants. An annotator's request never
waits for Prolific.
"""

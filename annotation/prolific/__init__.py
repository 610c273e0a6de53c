"""Prolific: its arrivals, its API, its studies and submissions.

Start with client.py and sync.py; adapter.py receives participants. An annotator's request never
waits for Prolific.
"""

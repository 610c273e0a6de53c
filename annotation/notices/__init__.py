"""Notices to researchers about events in their studies, and signed webhooks.

Start with webhooks.py (events) and sending.py (delivery and allowed addresses). None of this runs
during an annotator's request: events are derived from stored rows.
"""

"""Notices to researchers, and signed webhooks, about study events.

Read webhooks.py (events) and sending.py (delivery and allowed addresses) first. None of this runs
during an annotator's request: events are read from stored rows.
"""

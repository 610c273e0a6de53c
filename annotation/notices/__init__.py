"""Notices to researchers, and signed webhooks, about events in a study.

Read webhooks.py (events) and sending.py (delivery and allowed addresses) first. None of this runs
in an annotator's request: events are read from stored rows.
"""

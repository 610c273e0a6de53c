"""Messages about a study: notices to researchers, and signed webhooks.

Start with webhooks.py (events), then sending.py (delivery and allowed addresses). None of this runs
in an annotator's request: events are read from stored rows.
"""

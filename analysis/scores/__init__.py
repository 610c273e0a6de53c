"""Annotators' scores: tables built from the database, statistics, and the pages that show them.

Start with frames.py (which turns database rows into data frames) and performance.py. This package
must not import models, figures, documents or export.
"""

"""Annotators' scores: tables from the database, statistics, and their pages.

Start with frames.py (database rows to data frames) and performance.py. This package must not import
models, figures, documents or export.
"""

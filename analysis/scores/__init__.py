"""Scores of annotators: tables from the database, statistics, and their pages.

Begin with frames.py (rows into data frames) and performance.py. This package does not know models,
figures, documents or files.
"""

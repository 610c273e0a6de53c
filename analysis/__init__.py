"""Analysis of results: scores, tables, figures, documents and export files.

Start with scores/performance.py. This package reads answers and designs but never writes them. It
is the only part of the server that uses pandas.
"""

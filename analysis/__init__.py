"""Results: scores, tables, figures, documents and files.

Start with scores/performance.py. This package reads answers and designs but does not write them; it
is the only part of the server that uses pandas.
"""

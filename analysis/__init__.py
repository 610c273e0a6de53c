"""Results: scores, tables, figures, documents and files.

Begin with scores/performance.py. This package reads answers and designs and does not write them; on
the server only this package uses pandas.
"""

"""What came out: scores, tables, figures, documents and files.

Begin with tables/performance.py. This package reads answers and designs and writes neither;
pandas is used here alone.
"""

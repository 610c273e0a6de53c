"""Tables of results, from rows in the database to rows on a page.

Begin with frames.py (rows into data frames) and performance.py. Tables do not know pages or files.
"""

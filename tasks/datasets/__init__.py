"""Conversion of a labelled dataset to a task: reading files, assigning columns, sampling rows.

Start with making.py. This package does not use the database: it converts files and options to
records and a card. It only imports openpyxl and pyarrow if a file requires them.
"""

"""Converting a labelled dataset to a task: file readers, column roles, and sampling.

Start with making.py. This package is pure: it converts files and options to records and a card,
without using a database. openpyxl and pyarrow are only imported if a file requires them.
"""

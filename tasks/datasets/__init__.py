"""Conversion of a labelled dataset to a task: file readers, column roles, and sampling.

Start with making.py. This package is pure: it converts files and options to records and a card, and
doesn't use a database. openpyxl and pyarrow are imported only if a file requires them.
"""

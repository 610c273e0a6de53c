"""Convert a labelled dataset to a task: file readers, the meaning of columns, and sampling.

Start with making.py. Pure: files and options in, records and a card out, no database. openpyxl and
pyarrow are imported only if a file needs them.
"""

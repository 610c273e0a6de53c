"""Convert a labelled dataset to a task: file readers, meaning of columns, and sampling.

Begin with making.py. Pure: files and options in, records and a card out, without database. openpyxl
and pyarrow are imported only if a file needs them.
"""

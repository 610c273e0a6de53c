"""A study's files: CSVs, verify.py, Parquet, and the release bundle.

Start with files.py; columns.py explains each column. verify.py must not import project code.
"""

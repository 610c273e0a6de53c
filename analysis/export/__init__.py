"""The files of a study: CSVs, verify.py, Parquet, and the release bundle.

Begin with files.py; columns.py explains each column. verify.py must not import project code.
"""

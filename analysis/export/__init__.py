"""Study exports: CSV files, verify.py, Parquet files and the release bundle.

Start with files.py; columns.py explains the columns. verify.py must not import project code.
"""

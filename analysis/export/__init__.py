"""The files of a study: CSVs, verify.py, Parquet, and the release bundle.

Begin with files.py; columns.py says what each column means. verify.py must import nothing of ours.
"""

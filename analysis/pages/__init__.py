"""The pages of results and their JSON, by subject.

Begin with tables.py. Other packages do not import this one.
"""

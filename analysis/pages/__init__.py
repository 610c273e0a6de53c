"""The pages of results and their JSON, by subject.

Begin with tables.py. No other room imports this one.
"""

"""The power and cost of a design before the study is opened.

Start with planner.py.
"""

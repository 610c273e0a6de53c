"""The power and cost of a design before its study opens.

Start with planner.py.
"""

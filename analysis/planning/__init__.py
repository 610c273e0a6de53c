"""A design's power and cost before the study opens.

Start with planner.py.
"""

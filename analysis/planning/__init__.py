"""A design's power and cost before it opens.

Begin with planner.py.
"""

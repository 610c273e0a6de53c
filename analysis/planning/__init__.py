"""A design's power and cost before the study is opened.

Start with planner.py.
"""

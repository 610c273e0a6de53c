"""Power and cost of a design before it opens.

Begin with planner.py.
"""

"""Sources of participants: the open link, personal links, panels and Prolific.

Begin with registry.py. Each platform implements the types of recruitment/doors.py.
"""

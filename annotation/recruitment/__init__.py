"""From arrival to consent: access lists, seats and identities.

Begin with seats.py. This package knows platforms only through the types in doors.py.
"""

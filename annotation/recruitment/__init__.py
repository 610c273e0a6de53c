"""From arrival to consent: who may take part, their seat and their identity.

Begin with seats.py. Platforms are known only by the types in doors.py.
"""

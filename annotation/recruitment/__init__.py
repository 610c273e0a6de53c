"""From arrival to consent: access lists, seats, identities, links and panels.

Begin with seats.py. A platform implements the types of platform_adapters.py; the open link,
personal links and panels are here, and registry.py has all of them. This package does not know
Prolific.
"""

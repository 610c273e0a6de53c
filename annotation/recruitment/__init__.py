"""From arrival to consent: access lists, seats, identities, links and panels.

Start with seats.py. A platform implements the types in platform_adapters.py; the open link,
personal links and panels are here, and registry.py has all of them. This package does not depend on
Prolific.
"""

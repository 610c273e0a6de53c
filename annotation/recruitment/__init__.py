"""From arrival to consent: access lists, seats, identities, links and panels.

Read seats.py first. A platform implements the types in platform_adapters.py. The open link,
personal links and panels are here, and registry.py finds a participation's adapter. This package
doesn't depend on Prolific.
"""

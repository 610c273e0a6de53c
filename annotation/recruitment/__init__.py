"""From arrival to consent: access lists, seats, identities, links and panels.

Start with seats.py. Platforms implement the types in platform_adapters.py. The open link, personal
links and panels are here, and arrivals.py finds the exit of a participation. This package does
not depend on Prolific.
"""

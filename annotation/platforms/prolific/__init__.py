"""Prolific: its arrivals, its API, and a local fake to rehearse with (FACTS 1.1)."""

"""Management commands that write results."""

"""Commands that write results."""

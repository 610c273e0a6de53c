"""Commands that import."""

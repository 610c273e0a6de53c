"""Template tags for task text."""

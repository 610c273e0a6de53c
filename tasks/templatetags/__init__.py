"""Template tags for the texts of tasks."""

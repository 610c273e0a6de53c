"""Management commands for tasks."""

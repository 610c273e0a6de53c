"""Management commands for operators and researchers."""

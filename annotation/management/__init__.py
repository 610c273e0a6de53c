"""Commands for operators and researchers."""

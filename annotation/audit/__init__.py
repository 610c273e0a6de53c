"""The audit log: its entries, its pages, and the signals that record changes in `tasks`.

Start with log.py. Steps record their own entries in their own transactions, with
`AuditEntry.objects.record`; signals.py records what `tasks` does.
"""

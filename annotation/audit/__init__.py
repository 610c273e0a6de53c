"""The audit log: its entries, its pages, and the signals that record changes of `tasks`.

Begin with log.py. Steps record their own entries in their transaction, by
`AuditEntry.objects.record`; signals.py records what `tasks` does.
"""

"""The audit log: its entries, its pages, and the signals that record changes in `tasks`.

Read log.py first. Step functions record entries in their own transactions with
`AuditEntry.objects.record`. signals.py records changes that `tasks` makes.
"""

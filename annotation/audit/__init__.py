"""The audit log: its entries, its pages, and the signals that record changes in `tasks`.

Step functions record entries in their own transactions with `AuditEntry.objects.record`. log.py
records changes that `tasks` makes.
"""

"""The audit log: its entries, its pages, and the signals that record changes made by `tasks`.

Step functions record entries in their own transactions, using `AuditEntry.objects.record`. Changes
made by `tasks` are recorded by log.py.
"""

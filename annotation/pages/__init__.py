"""What people see in a browser, by audience. Thin: a door, a form, a step, a reply.

Begin with worker/views.py or researcher/studies.py. No other room
imports this one; analysis/pages takes its fields.py.
"""

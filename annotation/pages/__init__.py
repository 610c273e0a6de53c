"""Pages in the browser, by audience. Each one checks access, validates a form and calls a step.

Begin with worker/views.py or researcher/studies.py. No other package imports this one, except that
analysis/pages uses its fields.py.
"""

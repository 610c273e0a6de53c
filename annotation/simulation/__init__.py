"""Everything that plays a person or a platform, for demos, tests and rehearsals.

Begin with robots.py (simulated annotators); fake_prolific/ stands in for Prolific.
Nothing that serves people imports this room; of pages and API
only what sends robots into a rehearsal does.
"""

"""Management commands, one per module. `python manage.py help` lists them."""

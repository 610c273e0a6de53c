"""How the texts of a task stand on a page whose sentences are in another language."""

"""Figures: data.py prepares each figure's data, and charts.py draws it with Altair."""

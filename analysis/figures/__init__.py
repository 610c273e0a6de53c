"""Figures. data.py prepares the data of each figure, and charts.py draws it with Altair."""

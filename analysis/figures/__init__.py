"""Figures. data.py prepares the data of each figure, and charts.py describes it in Vega-Lite."""

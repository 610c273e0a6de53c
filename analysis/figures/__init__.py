"""The figures: charts.py draws with Altair, data.py prepares what each figure shows."""

"""Any labelled dataset -> a task: readers of files, what their columns mean, and the sampler.

Begin with making.py. Pure: files and options in, records and a card out; it knows neither the
database nor people. openpyxl and pyarrow are imported only where a file needs them.
"""

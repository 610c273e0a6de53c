"""The NLP Few-shot Gym of CrossFit (Ye, Lin, Ren, EMNLP 2021): its files and tables.

Start at `reader.read_task`. Pure: neither Django nor pandas. `tasks.csv` (ontology and metric of
the 160 tasks: the paper's appendix A and its repository) and `partitions.json` (the 8 published
partitions) are facts about the Gym; its texts are not part of this project.
"""

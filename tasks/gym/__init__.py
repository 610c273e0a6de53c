"""The NLP Few-shot Gym of CrossFit (Ye, Lin, Ren, EMNLP 2021): readers for its files, and tables.

Start with `reader.read_task`. This package uses neither Django nor pandas. `tasks.csv` (ontology
and metric of the 160 tasks, from appendix A of the paper and from its repository) and
`partitions.json` (the paper's 8 partitions, and Held-out-GLUE of the EMNLP version, appendix B.9;
both from its repository) are facts about the Gym. Its texts are not part of this project.
"""

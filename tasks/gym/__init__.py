"""Import of tasks from the NLP Few-shot Gym of CrossFit (Ye, Lin, Ren, EMNLP 2021).

Start with `reader.read_task`. This package uses neither Django nor pandas. `tasks.csv` contains the
category and metric of the 160 tasks, from appendix A of the paper and from its repository, and why
people cannot do some of them. `partitions.json` contains the paper's 8 partitions and Held-out-GLUE
of the EMNLP version (appendix B.9), from the same repository. The texts of the Gym are not part of
this project.
"""

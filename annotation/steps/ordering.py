"""The order in which a participation meets the examples of a step: seeded, and stored once made.

The published NER files ask three questions about each sentence in a row, and no sentence has three
empty answers, so neighbours give each other away (docs/protocol.md#orders). The default keeps them
apart. Nothing here may look at gold: an order derived from gold would show it.
"""

import random
from collections import defaultdict
from collections.abc import Hashable, Sequence

from annotation.models import Study


def order_examples(examples: Sequence[tuple[int, Hashable]], how: str, seed: str) -> list[int]:
    """Order example ids.

    `examples` are (id, context) in the order of the file; equal contexts belong together. `how` is
    one of Study.Order; `seed` decides the shuffle.
    """
    if how == Study.Order.FILE_ORDER:
        return [example for example, _context in examples]
    rng = random.Random(seed)
    of_context: dict[Hashable, list[int]] = defaultdict(list)
    for example, context in examples:
        of_context[context].append(example)
    if how == Study.Order.CONTEXTS_TOGETHER:
        groups = list(of_context.values())
        rng.shuffle(groups)
        return [example for group in groups for example in group]
    return _spread(list(of_context.values()), rng)


def _spread(groups: list[list[int]], rng: random.Random) -> list[int]:
    """Shuffle, with the m examples of one context at least half of 1/m of the step apart.

    Each group gets a random offset in [0, 1/m) and its examples stand 1/m apart from there, each
    moved by at most a quarter of that, so that no group repeats the order of another.
    """
    places = []
    for group in groups:
        rng.shuffle(group)
        offset = rng.random()
        for index, example in enumerate(group):
            jitter = rng.uniform(-0.25, 0.25) if len(group) > 1 else 0
            places.append(((index + offset + jitter) / len(group), example))
    return [example for _place, example in sorted(places)]

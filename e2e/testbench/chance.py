"""Whether one count is more than another, or only happened to be."""

import math

ONCE_IN = 1000


def no_more(ours: int, theirs: int, tries: int) -> bool:
    """Of `tries` each, `ours` and `theirs` came true. False where ours are so many more that chance would do it with
    two equals less than once in a thousand times (Fisher's exact test, one-sided)."""
    both = ours + theirs
    ways = sum(math.comb(tries, more) * math.comb(tries, both - more) for more in range(ours, min(both, tries) + 1))
    return ways * ONCE_IN >= math.comb(2 * tries, both)

"""What a share of solved tasks is worth: its interval, and whether two arms really differ."""

from __future__ import annotations

from math import comb, sqrt

#: The normal quantile of a two-sided interval of 95 %.
Z = 1.959963984540054


def wilson(solved: int, trials: int, z: float = Z) -> tuple[float, float]:
    """The score interval of a share (Wilson 1927), both ends in [0, 1].

    Raises ValueError unless 0 <= solved <= trials and there is a trial.
    """
    if not 0 <= solved <= trials or trials == 0:
        raise ValueError(f"{solved} of {trials} is no share")
    share, width = solved / trials, z * z / trials
    middle = (share + width / 2) / (1 + width)
    half = z / (1 + width) * sqrt(share * (1 - share) / trials + width / (4 * trials))
    # At the ends the formula is exact in real numbers only.
    low = 0.0 if solved == 0 else middle - half
    return low, 1.0 if solved == trials else middle + half


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p-value of paired trials (McNemar 1947, by the binomial).

    `only_first` and `only_second` count the pairs that just one of two arms solved.
    """
    pairs = only_first + only_second
    fewer = min(only_first, only_second)
    below = sum(comb(pairs, k) for k in range(fewer + 1))
    return min(1.0, 2 * below / (1 << pairs))

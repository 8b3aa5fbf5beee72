"""Numbers of several repetitions: medians, how sure they are, and whether two of them differ."""

import math
import statistics


def median(values):
    return statistics.median(values)


def interval(values):
    """Where the median is with a probability of 95 % or as near as so few repetitions allow, by order statistics: with up to five it is
    from the least to the most."""
    v, n = sorted(values), len(values)
    for k in range(n // 2, 0, -1):
        missed = 2 * sum(math.comb(n, i) for i in range(k)) / 2**n
        if missed <= 0.05:
            return v[k - 1], v[n - k]
    return v[0], v[-1]


def p_of_difference(a, b):
    """The probability that two sets of values of one distribution differ so much in rank (Mann and Whitney, two-sided, exact by counting)."""
    n, m = len(a), len(b)
    if n == 0 or m == 0:
        return 1.0
    u = sum((x > y) + 0.5 * (x == y) for x in a for y in b)
    # ways[k]: how many orders of n and m values have k pairs in which the first is larger
    ways = {(0, 0): {0: 1}}

    def count(i, j):
        if (i, j) in ways:
            return ways[i, j]
        if i == 0 or j == 0:
            ways[i, j] = {0: 1}
            return ways[i, j]
        made = dict(count(i, j - 1))
        for k, c in count(i - 1, j).items():
            made[k + j] = made.get(k + j, 0) + c
        ways[i, j] = made
        return made

    orders = count(n, m)
    whole = sum(orders.values())
    extreme = sum(c for k, c in orders.items() if abs(k - n * m / 2) >= abs(u - n * m / 2))
    return min(1.0, extreme / whole)

"""python/bench/side_by_side.py [--imbrex-pes=P]: whether PEs of a process compute Python at the same time: eight chares count primes, by Python
alone, and tasks of as many functions; seconds, best of three. With one PE and two, by CPython with a lock of the interpreter and without."""

import sys

import imbrex as ix
import numpy as np


def primes(below):
    return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(2, below))


class Counter(ix.Chare):
    def count(self, below):
        self.contribute(primes(below), ix.sum)


def count_into(x, below):
    x[0] = primes(below)


async def best(f):
    times = []
    for _ in range(3):
        began = ix.clock()
        await f()
        times.append(ix.clock() - began)
    return min(times)


async def main(rt):
    counters = rt.create_array(Counter, 8)
    objects = [ix.Object.of(np.zeros(1)) for _ in range(8)]

    async def by_chares():
        counters.broadcast.count(20_000)
        assert await counters.reduction() == 8 * 2262

    async def by_tasks():
        for x in objects:
            ix.submit(count_into, ix.write(x), 20_000)
        await ix.all_tasks()

    lock = "without" if hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled() else "with"
    print(f"CPython {sys.version.split()[0]} {lock} a lock of the interpreter, {rt.num_pes} PEs: chares {await best(by_chares):.3f} s, "
          f"tasks {await best(by_tasks):.3f} s")


if __name__ == "__main__":
    raise SystemExit(ix.run(main))

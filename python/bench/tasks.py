"""python/bench/tasks.py [tasks [options of imbrex]]: what a task costs, in us, medians of five: functions that do nothing, one after the other on
one object and each on its own, a kernel of one group from a string, submitted and waited for together; one submitted and
awaited at a time; steps of ten tasks, submitted one by one and replayed as a window. Beside them concurrent.futures' threads, which know no data and so no dependences."""

import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import imbrex as ix

N = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
KERNEL = "IX_KERNEL(nothing, (int n, IX_GLOBAL double* x)) { IX_ITEMS_BELOW(n) { x[IX_GLOBAL_ID(0)] += 1; } }"


def nothing(*_):
    pass


def median_us(times):
    return statistics.median(times) / N * 1e6


async def repeated(f):
    times = []
    for _ in range(5):
        began = ix.clock()
        await f()
        times.append(ix.clock() - began)
    return median_us(times)


async def main(rt):
    x = ix.Object(8)
    ix.submit(lambda a: a.fill(0), ix.write(x))
    many = [ix.Object(8) for _ in range(100)]
    for m in many:
        ix.submit(lambda a: a.fill(0), ix.write(m))
    k = ix.Kernels(KERNEL)
    await ix.submit(k.nothing, 8, x, over=8)

    async def chain():
        for _ in range(N):
            ix.submit(nothing, x)
        await ix.all_tasks()

    async def apart():
        for i in range(N):
            ix.submit(nothing, many[i % 100])
        await ix.all_tasks()

    async def kernels():
        for _ in range(N):
            ix.submit(k.nothing, 8, x, over=8)
        await ix.all_tasks()

    async def awaited():
        for _ in range(N):
            await ix.submit(nothing, x)

    def step(what, *options, **named):
        for _ in range(5):
            ix.submit(what, *options, many[0], **named)
            ix.submit(what, *options, many[1], **named)

    windows = []
    for what, options, named in ((nothing, (), {}), (k.nothing, (8,), {"over": 8})):
        with ix.record() as w:
            step(what, *options, **named)
        windows.append(w)

    async def steps(submit_one):
        for _ in range(N // 10):
            submit_one()
        await ix.all_tasks()

    for name, f in [("functions on one object", chain), ("functions on 100 objects", apart), ("kernels from a string", kernels),
                    ("functions, each awaited", awaited),
                    ("functions in steps of ten", lambda: steps(lambda: step(nothing))),
                    ("the same as a window", lambda: steps(windows[0].replay)),
                    ("kernels in steps of ten", lambda: steps(lambda: step(k.nothing, 8, over=8))),
                    ("the same as a window", lambda: steps(windows[1].replay))]:
        print(f"imbrex, {name}: {await repeated(f):.2f} us a task")


def threads():
    with ThreadPoolExecutor(1) as pool:
        together, awaited = [], []
        for _ in range(5):
            began = time.perf_counter()
            for f in [pool.submit(nothing) for _ in range(N)]:
                f.result()
            together.append(time.perf_counter() - began)
            began = time.perf_counter()
            for _ in range(N):
                pool.submit(nothing).result()
            awaited.append(time.perf_counter() - began)
    print(f"concurrent.futures, one thread: {median_us(together):.2f} us a call; each awaited: {median_us(awaited):.2f}")


if __name__ == "__main__":
    code = ix.run(main, sys.argv[2:])
    threads()
    raise SystemExit(code)

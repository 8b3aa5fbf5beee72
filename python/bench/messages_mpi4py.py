"""The same messages by mpi4py, pickled and as arrays: mpirun -n 2 python python/bench/messages_mpi4py.py"""

import statistics
import time

import numpy as np
from mpi4py import MPI

ROUNDS, SMALL, LARGE = 7, 2000, 200
world = MPI.COMM_WORLD
other = 1 - world.rank


def pickled(size, count):
    data = np.zeros(size // 8)
    began = time.perf_counter()
    for _ in range(count):
        if world.rank == 0:
            world.send(data, other)
            data = world.recv(source=other)
        else:
            data = world.recv(source=other)
            world.send(data, other)
    return (time.perf_counter() - began) / count / 2 * 1e6


def arrays(size, count):
    mine, theirs = np.zeros(size // 8), np.zeros(size // 8)
    began = time.perf_counter()
    for _ in range(count):
        if world.rank == 0:
            world.Send(mine, other)
            world.Recv(theirs, other)
        else:
            world.Recv(theirs, other)
            world.Send(mine, other)
    return (time.perf_counter() - began) / count / 2 * 1e6


for name, how, size, count in [
    ("message of 8 B", pickled, 8, SMALL),
    ("message of 1 MB", pickled, 1 << 20, LARGE),
    ("array, 8 B", arrays, 8, SMALL),
    ("array, 1 MB", arrays, 1 << 20, LARGE),
]:
    found = statistics.median(how(size, count) for _ in range(ROUNDS))
    if world.rank == 0:
        print(f"{name:<24}{found:9.2f}")

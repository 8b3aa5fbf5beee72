"""The same messages by charm4py's channels and proxies: python -m charmrun.start +p2 python/bench/messages_charm4py.py"""

import statistics
import time

import numpy as np
from charm4py import Array, Chare, Channel, charm, coro

ROUNDS, SMALL, LARGE = 7, 2000, 200


class Player(Chare):
    @coro
    def play(self, size, count):
        channel = Channel(self, remote=self.thisProxy[1 - self.thisIndex[0]])
        data = np.zeros(size // 8)
        began = time.perf_counter()
        for _ in range(count):
            if self.thisIndex[0] == 0:
                channel.send(data)
                data = channel.recv()
            else:
                data = channel.recv()
                channel.send(data)
        return (time.perf_counter() - began) / count / 2 * 1e6

    def nothing(self):
        pass

    @coro
    def call_here(self, count):
        mine = self.thisProxy[self.thisIndex]
        began = time.perf_counter()
        for _ in range(count):
            mine.nothing(awaitable=True).get()
        return (time.perf_counter() - began) / count * 1e6


def main(_):
    players = Array(Player, 2)

    def both(size, count):
        found = []
        for _ in range(ROUNDS):
            futures = [players[i].play(size, count, ret=True) for i in range(2)]
            found.append([f.get() for f in futures][0])
        return statistics.median(found)

    print(f"{charm.numPes()} PEs; us")
    print(f"message of 8 B          {both(8, SMALL):9.2f}")
    print(f"message of 1 MB         {both(1 << 20, LARGE):9.2f}")
    found = statistics.median(players[0].call_here(SMALL, ret=True).get() for _ in range(ROUNDS))
    print(f"call to the same PE     {found:9.2f}")
    charm.exit()


charm.start(main)

"""What messages between chares of Python cost: by one process with two PEs, or two processes of mpirun.

    python python/bench/messages.py --imbrex-pes=2
    mpirun -n 2 python python/bench/messages.py

Prints medians: microseconds one way of a message of 8 bytes and of 1 MB, pickled or by a channel of arrays, of a call to
a chare of the same PE, and of an `await` of something that is there.
"""

import statistics
import sys
import time

import imbrex as ix
import numpy as np

ROUNDS, SMALL, LARGE = 7, 2000, 200


class Player(ix.Chare):
    ball = ix.when()

    async def play(self, size, count):
        other = self.array[1 - self.index]
        data = np.zeros(size // 8)
        began = time.perf_counter()
        for i in range(count):
            if self.index == 0:
                other.send.ball(i, data)
                await self.ball(i)
            else:
                data = await self.ball(i)
                other.send.ball(i, data)
        return (time.perf_counter() - began) / count / 2 * 1e6

    async def play_by_channel(self, size, count, port):
        channel = self.channel(self.array[1 - self.index], port, port)
        mine, theirs = np.zeros(size // 8), np.zeros(size // 8)
        began = time.perf_counter()
        for _ in range(count):
            if self.index == 0:
                sent = channel.send(mine)
                await channel.recv(theirs)
            else:
                await channel.recv(theirs)
                sent = channel.send(mine)
            await sent
        return (time.perf_counter() - began) / count / 2 * 1e6

    def nothing(self):
        pass

    async def call_here(self, count):
        began = time.perf_counter()
        for _ in range(count):
            await self.proxy.call.nothing()
        return (time.perf_counter() - began) / count * 1e6

    async def wait_here(self, count):
        for i in range(count):
            self.ball.put(i)
        began = time.perf_counter()
        for i in range(count):
            await self.ball(i)
        return (time.perf_counter() - began) / count * 1e6


async def main(rt):
    if rt.num_pes != 2:
        print("messages.py: two PEs: --imbrex-pes=2, or mpirun -n 2", file=sys.stderr)
        return 2
    players = rt.create_array(Player, 2)
    port = 0

    async def both(method, *args):
        nonlocal port
        found = []
        for _ in range(ROUNDS):
            given = args
            if method == "play_by_channel":
                given, port = (*args, port), port + 1
            calls = [getattr(players[i].call, method)(*given) for i in range(2)]
            found.append((await ix.gather(*calls))[0])
        return statistics.median(found)

    async def one(method, *args):
        found = [await getattr(players[0].call, method)(*args) for _ in range(ROUNDS)]
        return statistics.median(found)

    print(f"{rt.num_ranks} processes, {rt.num_pes} PEs; us")
    print(f"message of 8 B          {await both('play', 8, SMALL):9.2f}")
    print(f"message of 1 MB         {await both('play', 1 << 20, LARGE):9.2f}")
    print(f"channel, 8 B            {await both('play_by_channel', 8, SMALL):9.2f}")
    print(f"channel, 1 MB           {await both('play_by_channel', 1 << 20, LARGE):9.2f}")
    print(f"call to the same PE     {await one('call_here', SMALL):9.2f}")
    print(f"await of what is there  {await one('wait_here', SMALL):9.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(ix.run(main))

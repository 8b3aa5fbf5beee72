"""Overdecomposed, asynchronous, message-driven tasks on CPU and GPU clusters.

A program is cut into more chares than there are processors; while one waits for a message, another computes.

    import imbrex as ix

    class Block(ix.Chare):
        async def run(self, steps):
            ...
            self.contribute(self.values.sum(), ix.sum)

    async def main(rt):
        blocks = rt.create_array(Block, 16)
        blocks.broadcast.run(100)
        print(await blocks.reduction())

    if __name__ == "__main__":
        raise SystemExit(ix.run(main))

See docs/python.md.
"""

from ._errors import Error, RemoteError, UsageError
from ._imbrex import Channel, Runtime
from ._chare import Chare, concatenate, max, min, product, sum, when
from ._run import gather, program, run

__all__ = [
    "Channel",
    "Chare",
    "Error",
    "RemoteError",
    "Runtime",
    "UsageError",
    "concatenate",
    "gather",
    "max",
    "min",
    "product",
    "program",
    "run",
    "sum",
    "when",
]

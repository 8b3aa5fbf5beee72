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
from ._imbrex import Channel, Domain, Runtime, Task, Window, __version__
from ._chare import Chare, concatenate, max, min, product, sum, when
from ._run import clock, gather, run
from ._kernels import Kernel, Kernels
from ._objects import Object, commute, process_domain, read, read_write, write
from ._reductions import reduce
from ._tasks import DeviceArray, GpuStream, all_tasks, on_gpu, submit
from ._windows import record
from ._graphs import Distributed, DistributedObject, Graph, run_graph

__all__ = [
    "Channel",
    "Chare",
    "DeviceArray",
    "Distributed",
    "DistributedObject",
    "Domain",
    "Error",
    "GpuStream",
    "Graph",
    "Kernel",
    "Kernels",
    "Object",
    "RemoteError",
    "Runtime",
    "Task",
    "UsageError",
    "Window",
    "all_tasks",
    "clock",
    "commute",
    "concatenate",
    "gather",
    "max",
    "min",
    "on_gpu",
    "process_domain",
    "product",
    "read",
    "read_write",
    "record",
    "reduce",
    "run",
    "run_graph",
    "submit",
    "sum",
    "when",
    "write",
]

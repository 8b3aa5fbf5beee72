"""One graph of tasks over all ranks."""

from __future__ import annotations

import inspect
import math
from typing import Any, Callable, Iterator

from . import _imbrex
from ._errors import UsageError
from ._objects import _numpy, _shape_of, _type_of, _Use
from ._tasks import _options, _prepared

__all__ = ["Distributed", "DistributedObject", "Graph", "run_graph"]


class DistributedObject:
    """One of `Distributed`, as an argument of `Graph.submit`: as it is, or as `imbrex.read(a[i])`, `write(a[i])` and so on."""

    __slots__ = ("of", "index")

    def __init__(self, of: "Distributed", index: tuple[int, int, int]) -> None:
        self.of, self.index = of, index

    @property
    def shape(self) -> tuple:
        nx, ny, _ = self.of._three
        x, y, z = self.index
        return self.of._shapes[(z * ny + y) * nx + x]

    @property
    def dtype(self) -> Any:
        return self.of.dtype

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def owner(self) -> int:
        """The rank that has it, and runs what writes it."""
        return self.of.graph._here.owner(self._which)

    @property
    def _which(self) -> tuple:
        return (self.of._set, *self.index)

    def __repr__(self) -> str:
        return f"<object {self.index[:len(self.of.extent)]} of {self.of!r}>"


class Distributed:
    """Objects of a graph over all ranks, `a = imbrex.Distributed(g, (nx, ny), (100, 100), "float32")`: nx times ny objects, each
    an array of 100 by 100, `a[i, j]`; or of a shape that a function says, of the index (a number, or a tuple): `a[i, j].shape`.
    Each belongs to a rank, by `owners`: "block", "round_robin", "block_cyclic" (ranks laid
    out as square as they can be), a rank, or a function of the index and the number of ranks. Every rank makes them, in the same
    order, of the same shapes. Elements are undefined, and take no memory, until a task has written them. Throws `UsageError` for
    an extent, a shape or an owner that cannot be."""

    def __init__(self, g: "Graph", extent: int | tuple, shape: int | tuple | Callable, dtype: Any = "float64",
                 owners: str | int | Callable = "block") -> None:
        self.graph, self.extent, self.dtype = g, _shape_of(extent), _type_of(dtype)
        if not 1 <= len(self.extent) <= 3 or any(n < 1 for n in self.extent):
            raise UsageError(f"a Distributed has one to three dimensions, each of one object at least: not {self.extent}")
        self._three = (*self.extent, 1, 1)[:3]
        self._shapes = self._shapes_of(shape)
        sizes = [math.prod(s) * self.dtype.itemsize for s in self._shapes]
        self._set = g._here.make_objects(*self._three, sizes, [int(o) for o in self._owners(owners, g.num_ranks)])

    @property
    def shape(self) -> tuple | None:
        """Of each; None where they differ."""
        return self._shapes[0] if all(s == self._shapes[0] for s in self._shapes) else None

    def __repr__(self) -> str:
        return f"imbrex.Distributed({self.extent}, {self.shape or 'several shapes'}, {self.dtype.name!r})"

    def __getitem__(self, index: int | tuple) -> DistributedObject:
        i = _shape_of(index)
        if len(i) != len(self.extent) or any(not 0 <= n < e for n, e in zip(i, self.extent)):
            raise UsageError(f"object {index} of a Distributed of extent {self.extent}: there is none")
        return DistributedObject(self, (*i, 0, 0)[:3])

    def __iter__(self) -> Iterator[DistributedObject]:
        return (DistributedObject(self, i) for i in self._indices())

    def _indices(self) -> Iterator[tuple[int, int, int]]:
        nx, ny, nz = self._three
        return ((x, y, z) for z in range(nz) for y in range(ny) for x in range(nx))

    def _given(self) -> Iterator[int | tuple]:
        """Indices as functions of the program have them."""
        d = len(self.extent)
        return (i[0] if d == 1 else i[:d] for i in self._indices())

    def _shapes_of(self, shape: int | tuple | Callable) -> list[tuple]:
        """x fastest."""
        if not callable(shape):
            return [self._shape(shape)] * math.prod(self.extent)
        return [self._shape(shape(i), f" {i}") for i in self._given()]

    @staticmethod
    def _shape(said: Any, which: str = "s") -> tuple:
        try:
            found = _shape_of(said)
        except UsageError:
            found = (-1,)
        if any(n < 0 for n in found):
            raise UsageError(f"object{which} of a Distributed of shape {said!r}: that is a number or a tuple, and none negative")
        return found

    def _owners(self, owners: Any, ranks: int) -> list[int]:
        n = math.prod(self.extent)
        if owners == "block":
            return [i * ranks // n for i in range(n)]
        if owners == "round_robin":
            return [i % ranks for i in range(n)]
        if owners == "block_cyclic":
            high = max(d for d in range(1, math.isqrt(ranks) + 1) if ranks % d == 0) if len(self.extent) > 1 else ranks
            return [y % (ranks // high) * high + x % high for x, y, _ in self._indices()]
        if callable(owners):
            return [owners(i, ranks) for i in self._given()]
        if isinstance(owners, int):
            return [owners] * n
        raise UsageError(f"objects of a graph belong to \"block\", \"round_robin\", \"block_cyclic\", a rank, or what a function "
                         f"says, not {owners!r}")


class Graph:
    """What `run_graph` gives the coroutine on each rank. It submits the same tasks everywhere, in the same order, whatever
    `g.rank`; each runs on one rank, and the data that it needs travel there."""

    def __init__(self, here: Any) -> None:
        self._here = here

    @property
    def rank(self) -> int:
        return self._here.rank

    @property
    def num_ranks(self) -> int:
        return self._here.num_ranks

    def submit(self, what: Any, *args: Any, name: str = "", priority: int = 0, on: str | None = None, number: int = -1,
               rank: int = -1, over: int | tuple | None = None, groups: int | tuple | None = None,
               group: int | tuple | None = None, shared_bytes: int = 0) -> _imbrex.Task | None:
        """As `imbrex.submit`, with objects of a `Distributed`. Runs on `rank`, else where the first object lives that it
        writes, else the first that it reads, else the first that it reduces into, else on rank 0. Gives the task on that rank, None on others: `await g.done()`."""
        options = _options(what, name, priority, on, number, rank=rank)
        p = _prepared(what, args, over, groups, group, shared_bytes, DistributedObject)
        uses = [(u.object._which, u.mode, u.how) for u in p.uses]
        if p.kernel is not None:
            return self._here.submit_kernel(p.kernel[0], p.kernel[1], p.shape, uses, p.values, options)
        return self._here.submit_function(p.call, p.places, uses, [u.object.nbytes for u in p.uses], options)

    def migrate(self, x: DistributedObject, rank: int) -> None:
        """From now on that rank owns `x`, and is sent its data. By all ranks."""
        self._here.migrate(x._which, rank)

    def evict(self, x: DistributedObject) -> None:
        """Frees the copies that this rank has at devices and no task uses."""
        self._here.evict(x._which)

    async def values(self, x: DistributedObject) -> Any:
        """`await g.values(a[i])`, by all ranks: an array with the elements, the same on each, behind all tasks submitted by
        now; for loops that end by what they find."""
        found = await self._here.values(x._which)
        return _numpy().frombuffer(found, dtype=x.dtype).reshape(x.shape).copy()

    def done(self) -> Any:
        """`await g.done()`: until all that this rank has submitted is over, and what travels for it. Throws failures."""
        return self._here.done()

    def fewer_tasks_than(self, n: int) -> Any:
        """`await g.fewer_tasks_than(n)`: so that submission does not run ahead by more than `n` tasks of this rank."""
        return self._here.fewer_tasks_than(n)

    def barrier(self) -> Any:
        """`await g.barrier()`: until all ranks' are over; for times."""
        return self._here.barrier()


def run_graph(rt: _imbrex.Runtime, submits: Callable, *args: Any, **named: Any) -> Any:
    """`await imbrex.run_graph(rt, f, n)`: has the coroutine `async def f(g, n)` run on the first PE of every rank, with a
    `Graph` and copies of the arguments, and waits for all that it has submitted. Gives what it returned on rank 0; throws what
    it, or a task, threw on some rank, and when ranks have submitted different tasks."""
    if not inspect.iscoroutinefunction(submits):
        raise UsageError(f"imbrex.run_graph takes an `async def f(g, ...)`, not {submits!r}")
    return _imbrex.run_graph(rt, submits.__qualname__, (submits, args, named))


def begin(made: tuple, here: Any) -> Any:
    submits, args, named = made
    return submits(Graph(here), *args, **named)

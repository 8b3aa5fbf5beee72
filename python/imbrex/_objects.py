"""Objects that live wherever they are needed, and how tasks use them."""

from __future__ import annotations

import itertools
import math
import operator
import secrets
import weakref
from typing import TYPE_CHECKING, Any

from . import _imbrex
from ._errors import UsageError

if TYPE_CHECKING:
    from ._graphs import DistributedObject


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        raise UsageError("objects and tasks need numpy: pip install numpy") from None
    return numpy


def _shape_of(shape: int | tuple) -> tuple:
    try:
        return tuple(operator.index(n) for n in shape) if isinstance(shape, (tuple, list)) else (operator.index(shape),)
    except TypeError:
        raise UsageError(f"a shape is a whole number or a tuple of some, not {shape!r}") from None


def _check_domain(domain: Any) -> None:
    if not (domain is None or isinstance(domain, _imbrex.Domain)):
        raise UsageError(f"domain={domain!r}: what `await imbrex.process_domain()` gives, or nothing")


def _type_of(dtype: Any) -> Any:
    found = _numpy().dtype(dtype)
    if found.hasobject:
        raise UsageError(f"objects of type {found}: elements are plain numbers")
    return found


class Object:
    """Elements that live wherever they are needed: the runtime keeps copies on the host and on devices, brings the newest
    to where a task runs, and lets tasks use them in the order in which they were submitted. `shape`: a number or a tuple;
    elements are undefined until a task or a view has written them. Of the PE whose chare made it, and used by chares
    there; or of a `domain`, what `await imbrex.process_domain()` gives, and used on all PEs of the process.
    `x[a:b]` are rows of it, an object of its own: tasks on rows that do not overlap are independent."""

    __slots__ = ("_handle", "shape", "dtype", "_number", "__weakref__")

    def __init__(self, shape: int | tuple, dtype: Any = "float64", *, domain: _imbrex.Domain | None = None) -> None:
        self.shape, self.dtype = _shape_of(shape), _type_of(dtype)
        _check_domain(domain)
        if any(n < 0 for n in self.shape):
            raise UsageError(f"an Object of shape {self.shape}: sizes are not negative")
        if self.nbytes >= 2**63:
            raise UsageError(f"an Object of shape {self.shape} of {self.dtype.name} has {self.nbytes} bytes: that is more than any memory")
        self._handle = _imbrex.make_object(self.nbytes, domain)

    @classmethod
    def of(cls, array: Any, *, domain: _imbrex.Domain | None = None) -> "Object":
        """With the elements of an array of the host, which are copied now. Those of an array on a GPU (`__cuda_array_interface__`:
        CuPy, Numba, PyTorch), in C order without gaps, a task copies there, once all is done that is then in the stream that
        the array names; one that names none has to be complete. It is kept until then, and not to be changed before a task
        that uses the object is over. Throws `UsageError` for an array on a GPU where the job uses none."""
        if hasattr(array, "__cuda_array_interface__"):
            return cls._of_gpu(array, domain)
        if hasattr(array, "__array__"):  # not asked by numpy for the copy: not all know that word of it
            array = _numpy().asarray(array)
        copy = _numpy().array(array, order="C", copy=True)
        new = cls(copy.shape, copy.dtype, domain=domain)
        if _imbrex.is_recording():
            raise UsageError("Object.of copies now, and a window runs later: make it before, and record a task that fills it")
        _imbrex.submit_function(_Copy(copy), ["host"], [(new._handle, "write", ())], ("copy", 0, None, -1, []))
        return new

    @classmethod
    def _of_gpu(cls, array: Any, domain: _imbrex.Domain | None) -> "Object":
        if _imbrex.is_recording():
            raise UsageError("Object.of copies once, and a window runs later: make it before, and record a task that fills it")
        says = array.__cuda_array_interface__
        new = cls(says["shape"], says["typestr"], domain=domain)
        _imbrex.submit_copy_of_gpu(new._handle, array)
        return new

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"imbrex.Object({self.shape}, {self.dtype.name!r})"

    def __getitem__(self, rows: slice) -> "Object":
        if not isinstance(rows, slice):
            raise UsageError(f"an Object is cut by rows, x[a:b], not by {rows!r}; for its elements: `async with x.host(\"read\")`")
        first, last, step = rows.indices(self.shape[0])
        if step != 1 or last <= first:
            raise UsageError(f"rows {first} to {last} in steps of {step} of an Object of {self.shape[0]}: rows side by side, and "
                             "not none")
        row = self.nbytes // self.shape[0]
        part = object.__new__(Object)
        part.shape, part.dtype = (last - first, *self.shape[1:]), self.dtype
        part._handle = self._handle.slice(first * row, (last - first) * row)
        return part

    def host(self, mode: str = "read") -> "_Block":
        """`async with x.host("read") as a:`: the elements as an array of numpy, once all tasks that were submitted before
        and write them are over (to write, "write" or "read_write": that use them). Tasks submitted later wait until the
        block ends; do not wait for one of them inside. The array is not yours behind the block: keep copies."""
        return _Block(self, mode)

    async def get(self) -> Any:
        """A copy of the elements, after all tasks that have been submitted."""
        async with self.host("read") as a:
            return a.copy()

    def prefetch(self, device: str, number: int = -1) -> None:
        """Brings a copy to a device ("cuda", "opencl", "host"), for tasks to come."""
        self._handle.prefetch(device, number)

    def evict(self) -> None:
        """Frees the copies at devices that no task uses now."""
        self._handle.evict()

    def release(self) -> None:
        """Gives it up, sooner than Python would. Tasks that use it have it until they are over."""
        self._handle.release()

    def __reduce__(self) -> Any:
        number = self._handle.keep_in_state()  # of the chare that moves, or goes into a checkpoint
        if number >= 0:
            return _of_state, (number, self.shape, self.dtype)
        # Broadcasts and arguments of constructors are pickled in the process, too: there it is the same Object.
        if not hasattr(self, "_number"):
            self._number = next(_numbers)
        _of_process[self._number] = self
        return _found, (_this_process, self._number)


_of_process: weakref.WeakValueDictionary[int, Object] = weakref.WeakValueDictionary()
_numbers = itertools.count()
_this_process = secrets.token_hex(8)


def _of_state(number: int, shape: tuple, dtype: Any) -> Object:
    x = object.__new__(Object)
    x.shape, x.dtype, x._handle = shape, dtype, _imbrex.object_of_state(number)
    return x


def _found(process: str, which: int) -> Object:
    x = _of_process.get(which)
    if process != _this_process or x is None:
        raise UsageError("an Object of all PEs of a process was sent to another process, to which goes what it holds, `await "
                         "x.get()`; or its sender has not kept it until it was there")
    return x


def process_domain() -> Any:
    """`all = await imbrex.process_domain()`: what `imbrex.Object(..., domain=all)` takes for objects that all PEs of the
    process use as they use their own, also as arguments of entry methods. Tasks on them are, on one PE, in the order in which they
    were submitted; between PEs in the order that messages say. They belong to the process's first PE, which alone reduces
    into them and records windows of them; on others what `submit` would throw is the task's failure, and a task says
    nothing of `done` and `where` and cannot be cancelled."""
    return _imbrex.process_domain()


class _Copy:
    """What a task calls that fills an Object."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __call__(self, memory: list, stream: None) -> None:
        _as_array(memory[0], self._array.shape, self._array.dtype)[...] = self._array


class _Block:
    def __init__(self, of: Object, mode: str) -> None:
        self._of = of
        self._view = _imbrex._View(of._handle, mode)

    async def __aenter__(self) -> Any:
        self._array = _as_array(await self._view.begin(), self._of.shape, self._of.dtype)
        return self._array

    async def __aexit__(self, *failed: Any) -> None:
        self._array.flags.writeable = False  # the name outlives the block, and what it has is others' now
        self._array = None
        self._view.end()


def _as_array(memory: Any, shape: tuple, dtype: Any) -> Any:
    return memory.view(dtype).reshape(shape)


class _Use:
    """What a task does with an object, or with one of a graph, which has shape and dtype, too."""

    def __init__(self, of: Any, mode: str, how: tuple = ()) -> None:
        if not hasattr(of, "shape") or not (isinstance(of, Object) or hasattr(of, "_which")):
            raise UsageError(f"imbrex.{mode}(x) is for an imbrex.Object, not for {of!r}")
        self.object, self.mode, self.how = of, mode, how

    @property
    def given(self) -> tuple:
        """What the module takes for it."""
        return (self.object._handle, self.mode, self.how)


def read(x: Object | DistributedObject) -> _Use:
    """As an argument of a task: it only reads `x`; others may do so at the same time."""
    return _Use(x, "read")


def write(x: Object | DistributedObject) -> _Use:
    """As an argument of a task: it overwrites all of `x`, and so what is there is not brought along."""
    return _Use(x, "write")


def read_write(x: Object | DistributedObject) -> _Use:
    """As an argument of a task: it changes `x`. A function's arguments are this if nothing is said."""
    return _Use(x, "read_write")


def commute(x: Object | DistributedObject) -> _Use:
    """As an argument of a task: it changes `x` as others do that commute, one at a time, in any order."""
    return _Use(x, "commute")

"""Tasks on objects: functions of the host and of GPUs, and kernels."""

from __future__ import annotations

import inspect
import operator
from typing import Any, Callable

from . import _imbrex
from ._errors import UsageError
from ._kernels import Kernel
from ._objects import Object, _as_array, _numpy, _Use


class DeviceArray:
    """An object's elements on a GPU, for a task's function: CuPy, Numba and PyTorch take it for an array
    (`cupy.asarray(x)`, `torch.as_tensor(x, device="cuda")`) without copying it. Only inside of the function."""

    __slots__ = ("shape", "dtype", "ptr", "_interface")

    def __init__(self, ptr: int, shape: tuple, dtype: Any, read_only: bool) -> None:
        self.shape, self.dtype, self.ptr = shape, dtype, ptr
        # Its stream is that of the task, in whose order the function enqueues: nothing has to be waited for.
        self._interface = {"shape": shape, "typestr": dtype.str, "data": (ptr, read_only), "version": 3, "stream": None}

    @property
    def __cuda_array_interface__(self) -> dict:
        return self._interface


class GpuStream:
    """The stream of CUDA that a task's function enqueues in; `ptr` is its cudaStream_t. For CuPy:
    `with cupy.cuda.Stream.from_external(stream): ...`, before CuPy 14 `cupy.cuda.ExternalStream(stream.ptr)`; for PyTorch `torch.cuda.ExternalStream(stream.ptr)`."""

    __slots__ = ("ptr",)

    def __init__(self, ptr: int) -> None:
        self.ptr = ptr

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.ptr)


class on_gpu:  # noqa: N801
    """`imbrex.on_gpu(f)` for `submit`: the task runs on a GPU, where `f(stream, ...)` enqueues what computes in `stream`, with
    `DeviceArray`s in the place of objects, and waits for nothing. `imbrex.on_gpu(f, host=g)`: or on the host, as `g(...)`
    with arrays of numpy; where is decided as for kernels."""

    def __init__(self, function: Callable, *, host: Callable | None = None) -> None:
        self.function, self.host = function, host
        self.__name__ = getattr(function, "__name__", "task")


class _Call:
    """What a task calls: the function with memory in the place of objects."""

    def __init__(self, host: Callable | None, gpu: Callable | None, args: tuple) -> None:
        self.host, self.gpu = host, gpu
        # Not the objects themselves: they are given up by whoever has them, not by what waits to run.
        self.args = [(a.object.shape, a.object.dtype, a.mode == "read") if isinstance(a, _Use) else a for a in args]
        self.is_object = [isinstance(a, _Use) for a in args]

    def __call__(self, memory: list, stream: int | None) -> Any:
        places = iter(memory)
        args = []
        for a, is_object in zip(self.args, self.is_object):
            if not is_object:
                args.append(a)
            elif stream is None:
                args.append(_as_array(next(places), a[0], a[1]))
            else:
                args.append(DeviceArray(next(places), *a))
        if stream is None:
            result = self.host(*args)
            # Part of an object, whose memory is another's afterwards.
            is_part = isinstance(result, _numpy().ndarray) and not result.flags.owndata
            return result.copy() if is_part else result
        self.gpu(GpuStream(stream), *args)
        return None


class _Prepared:
    """A task, checked, as the module takes it."""

    def __init__(self) -> None:
        self.uses: list[_Use] = []
        self.kernel: tuple | None = None  # its text and name
        self.shape: tuple = ()
        self.values: list[bytes] = []
        self.call: Any = None
        self.places: list[str] = []


def _prepared(what: Any, args: tuple, over: Any, groups: Any, group: Any, shared_bytes: int, of: type) -> _Prepared:
    """With objects of class `of`."""
    p = _Prepared()
    if isinstance(what, Kernel):
        p.kernel = (what._unit, what.__name__)
        p.shape, p.uses, p.values = what._prepare(args, over, groups, group, shared_bytes, of)
        return p
    if over is not None or groups is not None or group is not None or shared_bytes:
        raise UsageError("over, groups, group and shared_bytes are for kernels")
    gpu, function = (what.function, what.host) if isinstance(what, on_gpu) else (None, what)
    for f in (gpu, function):
        if inspect.iscoroutinefunction(f):
            raise UsageError(f"{f.__qualname__} is a coroutine: a task computes, and waits for nothing")
        if f is not None and not callable(f):
            raise UsageError(f"a task is a function, imbrex.on_gpu(f) or a kernel, not {f!r}")
    given = tuple(_Use(a, "read_write") if isinstance(a, of) else a for a in args)
    p.uses = [u for u in given if isinstance(u, _Use)]
    for u in p.uses:
        if not isinstance(u.object, of):
            raise UsageError(f"{u.object!r} is no imbrex.{of.__name__}: objects of a graph are for g.submit, others for imbrex.submit")
    p.places = [kind for kind, f in (("host", function), ("cuda", gpu)) if f is not None]
    p.call = _Call(function, gpu, given)
    return p


def _options(what: Any, name: Any, priority: Any, on: Any, number: Any, **more: Any) -> tuple:
    """As the module takes them."""
    for said, given in (("name", name), ("on", on or "")):
        if not isinstance(given, str):
            raise UsageError(f"{said}={given!r}: a string")
    for said, given in (("priority", priority), ("number", number), *more.items()):
        if not hasattr(given, "__index__"):
            raise UsageError(f"{said}={given!r}: a whole number")
    return (name or getattr(what, "__name__", "task"), operator.index(priority), on, operator.index(number),
            *(operator.index(n) for n in more.values()))


def submit(what: Any, *args: Any, name: str = "", priority: int = 0, on: str | None = None, number: int = -1,
           after: _imbrex.Task | tuple | list = (), over: int | tuple | None = None, groups: int | tuple | None = None,
           group: int | tuple | None = None, shared_bytes: int = 0) -> _imbrex.Task:
    """Submits a task, and returns it at once: `await` it for its end, what its function returned, or what it threw. It
    runs when all that was submitted before is over that it conflicts with, by the objects among `args`: `imbrex.read(x)`,
    `write(x)`, `read_write(x)`, `commute(x)`, `reduce(x, op)`; other arguments are values.

    `what`: a function, which is called on the host with arrays of numpy in the place of objects (`x` alone is
    `read_write(x)`); it is no coroutine, returns before its arrays are used elsewhere, and may run on another thread of the process. Or
    `imbrex.on_gpu(f)`. Or a kernel of `imbrex.Kernels`, on whatever device there is, `over` so many items, or in `groups` of
    `group` items with `shared_bytes` of dynamic shared memory; its parameters say what is read and written, `write(x)` what
    is overwritten.

    `on`, `number`: "host", "cuda" or "opencl", and which of these devices. `priority`: the higher, the sooner. `after`: a task,
    or several, that it waits for besides."""
    if isinstance(after, _imbrex.Task):
        after = (after,)
    for t in after:
        if not isinstance(t, _imbrex.Task):
            raise UsageError(f"after={after!r}: tasks, which imbrex.submit gives")
    options = (*_options(what, name, priority, on, number), list(after))
    p = _prepared(what, args, over, groups, group, shared_bytes, Object)
    uses = [u.given for u in p.uses]
    if p.kernel is not None:
        return _imbrex.submit_kernel(*p.kernel, p.shape, uses, p.values, options)
    return _imbrex.submit_function(p.call, p.places, uses, options)


def all_tasks() -> Any:
    """`await imbrex.all_tasks()`: until all tasks that this PE has submitted are over. Throws a failure that nobody has
    been told of."""
    return _imbrex.all_tasks()


def _await_task(self: _imbrex.Task) -> Any:
    return (yield self._until_over())


_imbrex.Task.__await__ = _await_task

"""Objects that live wherever they are needed, tasks on them, and kernels from strings."""

from __future__ import annotations

import ctypes
import importlib.util
import inspect
import math
import numbers
import pathlib
import struct
from typing import Any, Callable

from . import _imbrex
from ._errors import UsageError


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        raise UsageError("objects and tasks need numpy: pip install numpy") from None
    return numpy


class Object:
    """Elements that live wherever they are needed: the runtime keeps copies on the host and on devices, brings the newest
    to where a task runs, and lets tasks use them in the order in which they were submitted. `shape`: a number or a tuple;
    elements are undefined until a task or a view has written them. Of the PE whose chare made it, and used by chares
    there. `x[a:b]` are rows of it, an object of its own: tasks on rows that do not overlap are independent."""

    __slots__ = ("_handle", "shape", "dtype")

    def __init__(self, shape: int | tuple, dtype: Any = "float64") -> None:
        self.shape = tuple(int(n) for n in shape) if isinstance(shape, (tuple, list)) else (int(shape),)
        self.dtype = _numpy().dtype(dtype)
        if any(n < 0 for n in self.shape) or self.dtype.hasobject:
            raise UsageError(f"an Object of shape {self.shape} and type {self.dtype}: sizes are not negative, and elements are "
                             "plain numbers")
        self._handle = _imbrex.make_object(self.nbytes)

    @classmethod
    def of(cls, array: Any) -> "Object":
        """With the elements of an array of the host, which are copied now."""
        copy = _numpy().array(array, order="C", copy=True)
        new = cls(copy.shape, copy.dtype)
        submit(_Copy(copy), write(new), name="copy")
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
        raise UsageError("an Object belongs to its PE: send what it holds, `await x.get()`, and make an Object of it there")


class _Block:
    def __init__(self, of: Object, mode: str) -> None:
        self._of = of
        self._view = _imbrex._View(of._handle, mode)

    async def __aenter__(self) -> Any:
        return _as_array(await self._view.begin(), self._of.shape, self._of.dtype)

    async def __aexit__(self, *failed: Any) -> None:
        self._view.end()


def _as_array(memory: Any, shape: tuple, dtype: Any) -> Any:
    return memory.view(dtype).reshape(shape)


class _Use:
    def __init__(self, of: Object, mode: str) -> None:
        if not isinstance(of, Object):
            raise UsageError(f"imbrex.{mode}(x) is for an imbrex.Object, not for {of!r}")
        self.object, self.mode = of, mode


def read(x: Object) -> _Use:
    """As an argument of a task: it only reads `x`; others may do so at the same time."""
    return _Use(x, "read")


def write(x: Object) -> _Use:
    """As an argument of a task: it overwrites all of `x`, and so what is there is not brought along."""
    return _Use(x, "write")


def read_write(x: Object) -> _Use:
    """As an argument of a task: it changes `x`. A function's arguments are this if nothing is said."""
    return _Use(x, "read_write")


def commute(x: Object) -> _Use:
    """As an argument of a task: it changes `x` as others do that commute, one at a time, in any order."""
    return _Use(x, "commute")


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


class _Copy:
    def __init__(self, array: Any) -> None:
        self._array = array

    def __call__(self, to: Any) -> None:
        to[...] = self._array


def submit(what: Any, *args: Any, name: str = "", priority: int = 0, on: str | None = None, number: int = -1,
           after: tuple | list = (), over: int | tuple | None = None, groups: int | tuple | None = None,
           group: int | tuple | None = None, shared_bytes: int = 0) -> _imbrex.Task:
    """Submits a task, and returns it at once: `await` it for its end, what its function returned, or what it threw. It
    runs when all that was submitted before is over that it conflicts with, by the objects among `args`: `imbrex.read(x)`,
    `write(x)`, `read_write(x)`, `commute(x)`; other arguments are values.

    `what`: a function, which is called on the host with arrays of numpy in the place of objects (`x` alone is
    `read_write(x)`); it is no coroutine, returns before its arrays are used elsewhere, and may run on another thread of the process. Or
    `imbrex.on_gpu(f)`. Or a kernel of `imbrex.Kernels`, on whatever device there is, `over` so many items, or in `groups` of
    `group` items with `shared_bytes` of dynamic shared memory; its parameters say what is read and written, `write(x)` what
    is overwritten.

    `on`, `number`: "host", "cuda" or "opencl", and which of these devices. `priority`: the higher, the sooner. `after`: tasks
    that it waits for besides."""
    if isinstance(what, Kernel):
        return what._submit(args, (name, priority, on, number, list(after)), over, groups, group, shared_bytes)
    if over is not None or groups is not None or group is not None or shared_bytes:
        raise UsageError("over, groups, group and shared_bytes are for kernels")
    gpu = None
    function = what
    if isinstance(what, on_gpu):
        gpu, function = what.function, what.host
    for f in (gpu, function):
        if inspect.iscoroutinefunction(f):
            raise UsageError(f"{f.__qualname__} is a coroutine: a task computes, and waits for nothing")
        if f is not None and not callable(f):
            raise UsageError(f"a task is a function, imbrex.on_gpu(f) or a kernel, not {f!r}")
    uses = [_Use(a, "read_write") if isinstance(a, Object) else a for a in args]
    places = [kind for kind, f in (("host", function), ("cuda", gpu)) if f is not None]
    options = (name or getattr(what, "__name__", "task"), priority, on, number, list(after))
    return _imbrex.submit_function(_Call(function, gpu, tuple(uses)), places,
                                   [(u.object._handle, u.mode) for u in uses if isinstance(u, _Use)], options)


def all_tasks() -> Any:
    """`await imbrex.all_tasks()`: until all tasks that this PE has submitted are over. Throws a failure that nobody has
    been told of."""
    return _imbrex.all_tasks()


# ---------------------------------------------------------------------------------------------- kernels

# The words of the dialect for numbers: as numpy and as struct call them.
_NUMBERS = {"char": "i1", "signed char": "i1", "unsigned char": "u1", "short": "i2", "unsigned short": "u2", "int": "i4",
            "signed int": "i4", "unsigned": "u4", "unsigned int": "u4", "long": "i8", "unsigned long": "u8", "float": "f4",
            "double": "f8"}
_PACKED = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f4": "f", "f8": "d"}
_ELEMENTS = {"IX_HALF": "f2", "IX_DOUBLE2": "f8", "IX_FLOAT2": "f4", "IX_FLOAT4": "f4", "IX_INT2": "i4", "IX_INT4": "i4"}


def _three(n: int | tuple) -> tuple[int, int, int]:
    numbers_ = (n,) if isinstance(n, numbers.Integral) else tuple(n)
    if not 1 <= len(numbers_) <= 3:
        raise UsageError(f"one to three numbers for x, y and z, not {n!r}")
    return tuple(int(i) for i in numbers_) + (1,) * (3 - len(numbers_))


def _load_nvrtc() -> None:
    """Where CUDA's compiler came from PyPI (nvidia-cuda-nvrtc), whose folder no loader looks into: once in the process it is
    found by its name."""
    global _nvrtc
    if _nvrtc is not None:
        return
    _nvrtc = False
    found = importlib.util.find_spec("nvidia")
    for place in found.submodule_search_locations or [] if found is not None else []:
        for library in sorted(pathlib.Path(place).glob("*/lib/libnvrtc.so.*")):
            try:
                _nvrtc = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
                return
            except OSError:
                continue


_nvrtc: Any = None


class Kernels:
    """Kernels in the dialect of imbrex, from a string, for CPUs, CUDA and OpenCL (docs/kernels.md): `k = imbrex.Kernels(text)`,
    `imbrex.submit(k.saxpy, n, 2.0, x, y, over=n)`. Each device's compiler reads it when a task first runs there: the C++
    compiler of the machine, NVRTC, OpenCL's. `shown`: what errors call the text, such as a file's name."""

    def __init__(self, text: str, shown: str = "a kernel from a string") -> None:
        _load_nvrtc()
        self._unit = _imbrex._Kernels(text, shown)
        self._made = {name: Kernel(self._unit, name) for name in self._unit.names()}

    def __getattr__(self, name: str) -> "Kernel":
        made = self.__dict__.get("_made", {})
        if name in made:
            return made[name]
        raise AttributeError(f"there is no kernel {name!r}: the text has {', '.join(made)}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._made]


class Kernel:
    """One of `imbrex.Kernels`, for `imbrex.submit`."""

    def __init__(self, unit: Any, name: str) -> None:
        self._unit, self.__name__ = unit, name
        self._parameters = unit.parameters(name)
        self._fixed = unit.fixed_group(name)

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}({', '.join(p[0] for p in self._parameters)})>"

    def _submit(self, args: tuple, options: tuple, over: Any, groups: Any, group: Any, shared_bytes: int) -> _imbrex.Task:
        if len(args) != len(self._parameters):
            raise UsageError(f"kernel '{self.__name__}' has {len(self._parameters)} parameters ("
                             f"{', '.join(p[0] for p in self._parameters)}), and was given {len(args)}")
        uses, values = [], []
        for a, (name, kind, access) in zip(args, self._parameters):
            if access == "value":
                values.append(self._packed(a, name, kind))
                continue
            values.append(b"")
            uses.append(self._use(a, name, kind, access))
        return _imbrex.submit_kernel(self._unit, self.__name__, (*self._shape(over, groups, group), shared_bytes), uses, values, options)

    def _use(self, a: Any, name: str, kind: str, access: str) -> tuple:
        if isinstance(a, Object):
            a = _Use(a, access)
        if not isinstance(a, _Use):
            raise UsageError(f"parameter '{name}' of kernel '{self.__name__}' is a pointer: it takes an imbrex.Object, not {a!r}")
        wanted = _NUMBERS.get(kind) or _ELEMENTS.get(kind)
        if wanted is not None and a.object.dtype != _numpy().dtype(wanted):
            raise UsageError(f"parameter '{name}' of kernel '{self.__name__}' points to {kind}, and the Object has "
                             f"{a.object.dtype.name}: make it of dtype {_numpy().dtype(wanted).name!r}")
        return (a.object._handle, a.mode)

    def _packed(self, a: Any, name: str, kind: str) -> bytes:
        code = _NUMBERS.get(kind)
        wanted = numbers.Real if code is not None and code[0] == "f" else numbers.Integral
        if code is None or isinstance(a, bool) or not (isinstance(a, wanted) or hasattr(a, "__index__") or
                                                       (wanted is numbers.Real and hasattr(a, "__float__"))):
            raise UsageError(f"parameter '{name}' of kernel '{self.__name__}' is of type {kind}: it does not take {a!r}")
        try:
            return struct.pack(_PACKED[code], float(a) if wanted is numbers.Real else int(a))
        except (struct.error, OverflowError) as e:
            raise UsageError(f"parameter '{name}' of kernel '{self.__name__}' is of type {kind}, which {a!r} does not fit: {e}") from None

    def _shape(self, over: Any, groups: Any, group: Any) -> tuple:
        fixed = self._fixed if self._fixed[0] else None
        if (over is None) == (groups is None):
            raise UsageError(f"kernel '{self.__name__}': say how it is spread: over=n items, over=(nx, ny), or groups=... of group=...")
        if over is None:
            if group is None and fixed is None:
                raise UsageError(f"kernel '{self.__name__}': groups={groups!r} of how many items? group=256, or group=(32, 8)")
            return _three(groups), fixed if group is None else _three(group)
        items = _three(over)
        if group is None:
            group = fixed or ((256, 1, 1) if isinstance(over, numbers.Integral) or len(over) == 1 else (32, 8, 1))
        group = _three(group)
        return tuple(-(-n // g) for n, g in zip(items, group)), group


def _await_task(self: _imbrex.Task) -> Any:
    return (yield self._until_over())


_imbrex.Task.__await__ = _await_task

"""Kernels from strings."""

from __future__ import annotations

import ctypes
import importlib.util
import numbers
import pathlib
import struct
from typing import Any

from . import _imbrex
from ._errors import UsageError
from ._objects import _numpy, _Use

# The words of the dialect for numbers: as numpy and as struct call them.
_NUMBERS = {"char": "i1", "signed char": "i1", "unsigned char": "u1", "short": "i2", "unsigned short": "u2", "int": "i4",
            "signed int": "i4", "unsigned": "u4", "unsigned int": "u4", "long": "i8", "unsigned long": "u8", "float": "f4",
            "double": "f8"}
_PACKED = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f4": "f", "f8": "d"}
_ELEMENTS = {"IX_HALF": "f2", "IX_DOUBLE2": "f8", "IX_FLOAT2": "f4", "IX_FLOAT4": "f4", "IX_INT2": "i4", "IX_INT4": "i4"}


def _brief(a: Any) -> str:
    text = repr(a)
    return text if len(text) <= 80 else f"{text[:60]}... ({type(a).__name__})"


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

    def _prepare(self, args: tuple, over: Any, groups: Any, group: Any, shared_bytes: int, of: type) -> tuple:
        """The shape, the uses of objects of class `of`, and the values of the others as bytes."""
        if len(args) != len(self._parameters):
            raise UsageError(f"kernel '{self.__name__}' has {len(self._parameters)} parameters ("
                             f"{', '.join(p[0] for p in self._parameters)}), and was given {len(args)}")
        uses, values = [], []
        for a, (name, kind, access) in zip(args, self._parameters):
            if access == "value":
                values.append(self._packed(a, name, kind))
                continue
            values.append(b"")
            uses.append(self._use(a, name, kind, access, of))
        return (*self._shape(over, groups, group), shared_bytes), uses, values

    def _use(self, a: Any, name: str, kind: str, access: str, of: type) -> _Use:
        if isinstance(a, of):
            a = _Use(a, access)
        if not isinstance(a, _Use) or not isinstance(a.object, of):
            raise UsageError(f"parameter '{name}' of kernel '{self.__name__}' is a pointer: it takes an imbrex.{of.__name__}, not {_brief(a)}"
                             + ("; imbrex.Object.of(array) makes one of an array" if hasattr(a, "__array__") else ""))
        wanted = self._element(kind)
        if wanted is not None and a.object.dtype != wanted:
            raise UsageError(f"parameter '{name}' of kernel '{self.__name__}' points to {kind}, and the {of.__name__} has "
                             f"{a.object.dtype.name}: make it of dtype {wanted.name!r}")
        if a.mode == "reduce" and access == "read":
            raise UsageError(f"parameter '{name}' of kernel '{self.__name__}' is const: nothing is reduced into it")
        return a

    @staticmethod
    def _element(kind: str) -> Any:
        """What numpy calls what a pointer of that kind points to, or is a pair of; None: a struct, which it does not know."""
        wanted = _NUMBERS.get(kind) or _ELEMENTS.get(kind)
        return None if wanted is None else _numpy().dtype(wanted)

    def _packed(self, a: Any, name: str, kind: str) -> bytes:
        code = _NUMBERS.get(kind)
        wanted = numbers.Real if code is not None and code[0] == "f" else numbers.Integral
        if code is None or isinstance(a, bool) or not (isinstance(a, wanted) or hasattr(a, "__index__") or
                                                       (wanted is numbers.Real and hasattr(a, "__float__"))):
            raise UsageError(f"parameter '{name}' of kernel '{self.__name__}' is of type {kind}: it does not take {_brief(a)}")
        try:
            return struct.pack("=" + _PACKED[code], float(a) if wanted is numbers.Real else int(a))
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
        if min(items) < 1:
            raise UsageError(f"kernel '{self.__name__}' over={over!r}: over one item at least; where there is nothing to do, submit nothing")
        if group is None:
            group = fixed or ((256, 1, 1) if isinstance(over, numbers.Integral) or len(over) == 1 else (32, 8, 1))
        group = _three(group)
        return tuple(-(-n // g) for n, g in zip(items, group)), group

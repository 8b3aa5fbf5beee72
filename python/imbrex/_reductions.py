"""How tasks reduce into objects."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable

from . import _imbrex
from ._errors import UsageError
from ._kernels import Kernel
from ._objects import Object, _as_array, _numpy, _Use

if TYPE_CHECKING:
    from ._graphs import DistributedObject


def reduce(x: Object | DistributedObject, op: str | Callable | Kernel, parts: int = 8, *, identity: Any = None,
           by: Kernel | None = None) -> _Use:
    """As an argument of a task: it adds to `x` by `op`, apart from others that do. It finds what some of them have left, or the
    operation's neutral elements if it is the first of these, and changes that: `x += found`. The tasks are in `parts` by
    turns, as many of which run at once, and what is in these comes together in `x`, and with what it had if it had anything,
    when it is next used otherwise. The bits are the same whoever runs what.

    `op`: `imbrex.sum`, `product`, `min` or `max`, of int32, uint32, int64, uint64, float32 and float64. Or one of your own, of
    elements of any type, associative and commutative, with its `identity`: what changes nothing that it is combined with, a
    number or an array that numpy spreads over the shape of `x` (of a ufunc of numpy it is known where that has one). It is a
    function `f(a, b)`, called on the host with two parts of `x` as arrays of its shape and type: it gives an array of the same,
    or changes `a` and gives None; `b` is not to be changed, and neither is kept. Or a kernel of `imbrex.Kernels`,
    `(int n, T* into, const T* from)`, which does that to `n` elements wherever the parts are; `by=kernel` beside a function: on
    devices. Tasks add to the same parts if their operations and identities are equal. What `f` throws, all throw that
    use what should have come of it.

    Throws `UsageError` here for what is no operation, or has no identity."""
    if not hasattr(parts, "__index__"):
        raise UsageError(f"imbrex.reduce(x, op, {parts!r}): a whole number of parts")
    use = _Use(x, "reduce")
    use.how = (_operation(op, use.object, identity, by), use.object.dtype.name, parts)
    return use


def _operation(op: Any, x: Any, identity: Any, by: Any) -> Any:
    """As the module takes it: a name, or what it makes of one of the program's own."""
    if isinstance(op, str):
        if op not in ("sum", "product", "min", "max"):
            raise UsageError(f"a task does not reduce by {op!r}: imbrex.sum, product, min, max, a function of two arrays or a kernel")
        if identity is None and by is None:
            return op
        raise UsageError(f"imbrex.reduce(x, imbrex.{op}) knows its identity, and how devices do it")
    if isinstance(op, Kernel):
        if by is not None:
            raise UsageError(f"imbrex.reduce(x, {op!r}) is by that kernel already: by= is beside a function for the host")
        op, by = None, op
    elif not callable(op):
        raise UsageError(f"tasks reduce by imbrex.sum, product, min, max, a function of two arrays or a kernel, not by {op!r}")
    if by is not None:
        _check_kernel(by, x.dtype)
    name = getattr(op if op is not None else by, "__name__", "an operation")
    return _imbrex._Operation(op, None if op is None else _Combining(op, name, x.shape, x.dtype), name,
                              None if by is None else (by._unit, by.__name__), _identity(op, name, identity, x),
                              math.prod(x.shape) * x.dtype.itemsize)


def _check_kernel(by: Any, dtype: Any) -> None:
    if not isinstance(by, Kernel):
        raise UsageError(f"imbrex.reduce(x, f, by=k) takes a kernel of imbrex.Kernels, not {by!r}")
    for name, kind, access in by._parameters:
        wanted = by._element(kind)
        if access != "value" and wanted is not None and wanted != dtype:
            raise UsageError(f"parameter '{name}' of kernel '{by.__name__}' points to {kind}, and the object that is reduced into has "
                             f"{dtype.name}")


def _identity(op: Any, name: str, identity: Any, x: Any) -> bytes:
    """As many elements as fill `x` one behind the other."""
    numpy = _numpy()
    if identity is None:
        identity = getattr(op, "identity", None) if isinstance(op, numpy.ufunc) else None
    if identity is None:
        raise UsageError(f"imbrex.reduce(x, {name}) needs identity=: what changes nothing that it is combined with, such as 0 of a sum")
    try:
        elements = numpy.asarray(identity, x.dtype)
        is_whole = x.dtype.kind not in "biu" or numpy.array_equal(elements, numpy.asarray(identity))
        spread = numpy.broadcast_to(elements, x.shape)
    except (TypeError, ValueError, OverflowError) as e:
        raise UsageError(f"imbrex.reduce(x, {name}): {identity!r} does not fill {x!r}: {e}") from None
    if not is_whole:
        raise UsageError(f"imbrex.reduce(x, {name}): {identity!r} is no {x.dtype.name}")
    repeats = elements.ndim == 0 or elements.shape == x.shape[len(x.shape) - elements.ndim:]
    return (elements if repeats and elements.size > 0 else spread).tobytes() or bytes(x.dtype.itemsize)


class _Combining:
    """What a task calls that combines two parts."""

    def __init__(self, function: Callable, name: str, shape: tuple, dtype: Any) -> None:
        self.function, self.name, self.shape, self.dtype = function, name, shape, dtype

    def __call__(self, memory: list, stream: None) -> None:
        into, other = (_as_array(m, self.shape, self.dtype) for m in memory)
        found = self.function(into, other)
        if found is None or found is into:
            return
        array = _numpy().asarray(found)
        if array.shape != self.shape or array.dtype != self.dtype:
            raise UsageError(f"{self.name} combines two arrays of {self.dtype.name} of shape {self.shape}, and gave one of "
                             f"{array.dtype.name} of shape {array.shape}: give the same, or None when the first has been changed")
        into[...] = array

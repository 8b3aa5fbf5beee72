"""Chares as classes, and how they are spoken to."""

from __future__ import annotations

import builtins
import copy
import difflib
import inspect
import pickle
from collections import deque
from typing import Any, Callable

from . import _imbrex
from ._errors import UsageError

sum = "sum"  # noqa: A001
product = "product"
min = "min"  # noqa: A001
max = "max"  # noqa: A001
concatenate = "concatenate"


class Chare:
    """The base of every chare. It lives on one PE at a time and is touched by that one only, so its methods never run at
    the same time and need no locks. Each public method is an entry method: what others send by a proxy. One that is
    `async` may wait, and other methods of the chare run meanwhile. To move to another process, and to be in a checkpoint,
    it is pickled; its coroutines are not."""

    _chare: _imbrex._Chare | None = None

    @property
    def _here(self) -> _imbrex._Chare:
        if self._chare is None:
            raise UsageError(f"this {type(self).__qualname__} is no longer a chare, or not yet: it has ended or moved")
        return self._chare

    @property
    def index(self) -> Any:
        """Where it is in its array: a number, or a tuple; None of a single chare."""
        return self._here.index

    @property
    def extent(self) -> Any:
        """Of its array."""
        return self._here.extent

    @property
    def proxy(self) -> Any:
        """This chare, for others to send to."""
        return self._here.proxy

    @property
    def array(self) -> Any:
        """All of the array that it belongs to."""
        return self._here.array

    @property
    def runtime(self) -> _imbrex.Runtime:
        """The job's, as `main` has it: a chare makes others by `self.runtime.create_array(...)`."""
        return self._here.runtime

    @property
    def pe(self) -> int:
        return self._here.pe

    @property
    def num_pes(self) -> int:
        return self._here.num_pes

    @property
    def rank(self) -> int:
        return self._here.rank

    @property
    def gpu(self) -> int | None:
        """Its GPU, by its place among those that the process sees, as CuPy and PyTorch count them; None: it has none."""
        gpu = self._here.gpu
        return None if gpu < 0 else gpu

    def contribute(self, value: Any, op: str | Callable = sum, section: Any = None) -> None:
        """Adds to the next reduction of its array, which `await array.reduction()` gives, or of a `section` of it. `op`:
        `imbrex.sum`, `product`, `min`, `max`, of numbers or arrays of numpy element by element; `concatenate`, which puts
        arrays behind one another along their first axis, numbers into a list, and lists, tuples and strings together, in the
        order in which they come, which differs from run to run; or a function of two values that can be pickled, associative
        and commutative, which may change the first. All elements give the same one. Returns at once: of what can change a
        copy is contributed."""
        self._here.contribute(contributed(value, op), op, section)

    def allreduce(self, value: Any, op: str | Callable = sum, section: Any = None) -> Any:
        """`total = await self.allreduce(value, op)`: contributes, and waits for the result, which all elements get, each its
        own; or all of a `section`."""
        return self._here.allreduce(contributed(value, op), op, section)

    def barrier(self) -> Any:
        """`await self.barrier()`: until all elements of the array have come here."""
        return self._here.barrier()

    def checkpoint_point(self) -> Any:
        """`await self.checkpoint_point()` in a coroutine of every element of an array: a point at which the attributes of these
        elements are all that has to be kept of them. Without `--imbrex-checkpoint` it is passed at once. Else it waits until
        all elements have come (it counts as one of the array's reductions), and, if a checkpoint is due, until their state
        has been taken. Gives whether it was. After a restart the coroutine is not there: the program's `restart` starts it again."""
        return self._here.checkpoint_point()

    def migrate_to(self, pe: int) -> None:
        """Moves to a PE as soon as that can be done, once this method returns."""
        self._here.migrate_to(pe)

    def destroy(self) -> None:
        """Ends this chare once the present method returns."""
        self._here.destroy()

    def channel(self, to: Any, port: int, peer_port: int, memory: str = "host") -> _imbrex.Channel:
        """This chare's end of a channel to another one, for arrays in main memory, or with `memory="device"` on a GPU: of
        CuPy, PyTorch, Numba. The other makes its own, with the numbers the other way round. For devices both are on
        GPUs (`--imbrex-device=cuda`)."""
        return self._here.channel(to, port, peer_port, memory)

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        state.pop("_chare", None)
        return state


class when:  # noqa: N801
    """A slot of a chare, for messages with a number: `arrived = ix.when()` in the class; others send
    `proxy.send.arrived(number, ...)`; the chare says `... = await self.arrived(number)`, in whatever order they come.
    Gives what followed the number: nothing, one value, or a tuple."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, chare: Any, owner: type | None = None) -> Any:
        if chare is None:
            return self
        slot = chare.__dict__.get(self._name)
        if slot is None:
            slot = chare.__dict__[self._name] = _Slot(f"{type(chare).__qualname__}.{self._name}")
        return slot


class _Slot:
    """Messages of a `when` that nobody has awaited yet, and who awaits one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._came: dict[Any, deque] = {}
        self._awaited: dict[Any, deque] = {}

    def put(self, *given: Any, **named: Any) -> None:
        if not given or named:
            raise UsageError(f"{self._name} is a slot: what is sent to it is a number, and what follows it, without names"
                             + (f", not {', '.join(named)}=" if named else ""))
        self._take(*given)

    def _take(self, number: Any, *values: Any) -> None:
        value = values[0] if len(values) == 1 else values or None
        waiting = self._awaited.get(number)
        if waiting:
            waiting.popleft().set(value)
            if not waiting:
                del self._awaited[number]
        else:
            self._came.setdefault(number, deque()).append(value)

    def __call__(self, number: Any) -> Any:
        return _imbrex.later(lambda: self._future_of(number).wait(), f"{self._name}({number!r})")

    def _future_of(self, number: Any) -> _imbrex.Future:
        future = _imbrex.Future(f"{self._name}({number!r})")
        came = self._came.get(number)
        if came:
            future.set(came.popleft())
            if not came:
                del self._came[number]
        else:
            self._awaited.setdefault(number, deque()).append(future)
        return future

    def __getstate__(self) -> dict:
        if self._awaited:
            raise UsageError(f"{self._name} is awaited: a chare whose coroutines wait cannot be pickled")
        return self.__dict__


# ---------------------------------------------------------------------------------------------- what the module calls


def make(made: tuple, chare: _imbrex._Chare) -> Chare:
    cls, args, named = made
    new = cls.__new__(cls)
    new._chare = chare
    begun = new.__init__(*args, **named)
    if begun is not None:
        if hasattr(begun, "close"):
            begun.close()
        raise TypeError(f"{cls.__qualname__}.__init__ has to return None, and gave {type(begun).__name__}: it cannot be async")
    return new


def state(chare: Chare) -> tuple:
    return (chare,)


def read(saved: tuple, chare: _imbrex._Chare) -> Chare:
    (new,) = saved
    new._chare = chare
    return new


def channel_of_state(number: int) -> _imbrex.Channel:
    """Of the chare that is read; for pickle, which knows functions of Python by their names."""
    return _imbrex.channel_of_state(number)


def _close_to(method: str, chare: Chare) -> str:
    known = [name for name in dir(chare) if not name.startswith("_") and name not in dir(Chare)]
    close = difflib.get_close_matches(method, known, 1)
    return f": did you mean {close[0]!r}?" if close else ""


def invoke(chare: Chare, method: str, args: tuple, named: dict) -> Any:
    if method.startswith("_"):
        raise UsageError(f"{type(chare).__qualname__}.{method} is private: its name begins with an underscore")
    found = getattr(chare, method, None)
    if isinstance(found, _Slot):
        return found.put(*args, **named)
    if not callable(found):
        raise UsageError(f"{type(chare).__qualname__} has no method {method!r}{_close_to(method, chare)}")
    given = found(*args, **named)
    if inspect.isgenerator(given) or inspect.isasyncgen(given):
        raise UsageError(f"{type(chare).__qualname__}.{method} has a `yield`: a call of it gives a generator, and runs nothing. An entry "
                         f"method is a function, or a coroutine: `async def` with `await`")
    return given


_immutable = (int, float, complex, str, bytes, bool, type(None))


def own(value: Any) -> Any:
    """What somebody else cannot change: `value`, or a copy."""
    if isinstance(value, _immutable):
        return value
    if hasattr(value, "copy") and getattr(getattr(value, "dtype", None), "hasobject", True) is False:  # as numpy's arrays are
        return value.copy()
    try:
        return copy.deepcopy(value)
    except TypeError as e:  # as pickle has it
        raise UsageError(f"what elements contribute, and get, is copied, but a {type(value).__name__} cannot be: {e}") from None


def contributed(value: Any, op: str | Callable) -> Any:
    """As it is kept until it has been combined: a copy, since who contributed it may change it meanwhile."""
    if op != concatenate:
        return own(value)
    if hasattr(value, "__array__"):
        import numpy

        return numpy.array(value, ndmin=1)
    return [value] if isinstance(value, (int, float, complex)) else own(value)


def _name_of(op: str | Callable) -> str:
    return repr(op) if isinstance(op, str) else f"function {getattr(op, '__qualname__', op)!r}"


def _is_same_operation(a: str | Callable, b: str | Callable) -> bool:
    """Functions are made anew for each element, if they are lambdas or local."""
    return a == b or (callable(a) and callable(b) and getattr(a, "__code__", a) == getattr(b, "__code__", b))


def combine(op: str | Callable, a: Any, b: Any, other: str | Callable) -> Any:
    if not _is_same_operation(op, other):
        raise UsageError(f"elements disagree about a reduction: one contributes by {_name_of(op)}, another by {_name_of(other)}")
    if callable(op):
        both = op(a, b)
        if both is None and a is not None and b is not None:
            raise UsageError(f"{getattr(op, '__qualname__', op)!r} is to combine two values that were contributed, and gave None")
        return both
    try:
        return _combine_by_name(op, a, b)
    except (TypeError, ValueError) as e:
        raise UsageError(f"a reduction by {op!r} cannot combine {_kind_of(a)} and {_kind_of(b)}: {e}") from None


def _kind_of(value: Any) -> str:
    shape = f" of shape {value.shape}" if hasattr(value, "shape") else ""
    return f"a {type(value).__name__}{shape}"


def _combine_by_name(op: str, a: Any, b: Any) -> Any:
    if op == concatenate and (hasattr(a, "__array__") or hasattr(b, "__array__")):
        import numpy

        return numpy.concatenate((a, b))
    if op in (sum, concatenate):
        return a + b
    if op == product:
        return a * b
    if op in (min, max):
        if hasattr(a, "__array__") or hasattr(b, "__array__"):
            import numpy

            return numpy.minimum(a, b) if op == min else numpy.maximum(a, b)
        if a != a or b != b:  # as numpy has it, whoever contributes what is no number
            return a if a != a else b
        return builtins.min(a, b) if op == min else builtins.max(a, b)
    raise UsageError(f"there is no reduction {op!r}: sum, product, min, max, concatenate, or a function of two values")


# ---------------------------------------------------------------------------------------------- proxies


class _Methods:
    """`proxy.send`, `.call` and `.broadcast`: their attributes are the entry methods of the chare."""

    __slots__ = ("_how",)

    def __init__(self, how: Callable) -> None:
        self._how = how

    def __getattr__(self, method: str) -> Callable:
        if method.startswith("__"):
            raise AttributeError(method)
        how = self._how
        return lambda *args, **named: how(method, (args, named))


def _not_iterable(array: Any) -> Any:
    raise TypeError("an array's proxy does not know its elements: `for i in range(n): array[i]`, or array.broadcast")


def _no_attribute(proxy: Any, name: str) -> Any:
    """An attribute that a proxy does not have: an entry method's name, perhaps."""
    if name.startswith("_"):
        raise AttributeError(f"{type(proxy).__name__!r} object has no attribute {name!r}")
    ways = "broadcast" if hasattr(proxy, "_broadcast") else "send, .call"
    raise AttributeError(f"a proxy has no {name!r}; an entry method is spoken to by .{ways}: proxy.{ways.split(',')[0]}.{name}(...)"
                         + (", or of one element, array[i].send" if hasattr(proxy, "__getitem__") else ""))


def _insert(array: Any, index: Any, cls: type, *args: Any, **named: Any) -> Any:
    """`await array.insert(i, cls, ...)`: an element of that class, on the PE whose index it is; when awaited it is there, and
    each reduction that is not complete then counts it. It is made whether or not that is awaited: at once, if it is not kept. Where one of
    this index lives it waits for its end. In arrays of `rt.create_empty_array`, and where elements have ended."""
    return array._insert(None, index, made_of(cls, args, named))


def _insert_on(array: Any, pe: int, index: Any, cls: type, *args: Any, **named: Any) -> Any:
    """The same on a PE of one's choice."""
    return array._insert(pe, index, made_of(cls, args, named))


def _insert_if_absent(array: Any, index: Any, cls: type, *args: Any, **named: Any) -> Any:
    """The same, but one that is there already is as good."""
    return array._insert("if absent", index, made_of(cls, args, named))


def _check(cls: type) -> None:
    if not (isinstance(cls, type) and issubclass(cls, Chare)):
        raise UsageError(f"{cls!r} is no class that derives from imbrex.Chare")


def made_of(cls: type, args: tuple, named: dict[str, Any]) -> tuple:
    """What a chare is made of, where it can be told elsewhere."""
    _check(cls)
    try:
        pickle.dumps(cls)
    except (pickle.PicklingError, AttributeError) as e:
        raise UsageError(f"chares of {cls.__qualname__} can be made only where others find the class by its name: define it in a "
                         f"module, outside of functions ({e})") from None
    return (cls, args, named)


def _is_same(a: Any, b: Any) -> Any:
    return a._key() == b._key() if type(a) is type(b) else NotImplemented


def _shown(proxy: Any) -> str:
    index = "" if not hasattr(proxy, "index") or proxy.index is None else f" of element {proxy.index}"
    return f"<imbrex.{type(proxy).__name__}{index}>"


def _await(self: _imbrex.Wait) -> Any:
    return (yield self)


_imbrex.Wait.__await__ = _await
for _proxy in (_imbrex.Single, _imbrex.Element1, _imbrex.Element2, _imbrex.Element3):
    _proxy.send = property(lambda p: _Methods(p._send), doc="`p.send.method(...)`: asynchronously. In a process the "
                           "arguments themselves go: do not change them afterwards.")
    _proxy.call = property(lambda p: _Methods(p._call), doc="`await p.call.method(...)`: gives its result; what it throws "
                           "is thrown here.")
_sections = (_imbrex.Section1, _imbrex.Section2, _imbrex.Section3)
for _proxy in (_imbrex.Array1, _imbrex.Array2, _imbrex.Array3, *_sections):
    _proxy.broadcast = property(lambda p: _Methods(p._broadcast), doc="`a.broadcast.method(...)`: to all elements, each "
                                "with copies of the arguments.")
    if _proxy not in _sections:
        _proxy.__iter__ = _not_iterable
        _proxy.insert, _proxy.insert_on, _proxy.insert_if_absent = _insert, _insert_on, _insert_if_absent
for _proxy in (_imbrex.Single, _imbrex.Element1, _imbrex.Element2, _imbrex.Element3, _imbrex.Array1, _imbrex.Array2, _imbrex.Array3,
               *_sections):
    _proxy.__eq__, _proxy.__hash__, _proxy.__repr__ = _is_same, lambda p: hash(p._key()), _shown
    _proxy.__getattr__ = _no_attribute

"""The main chare: what runs first, and what a checkpoint keeps of it."""

from __future__ import annotations

import inspect
import sys
from typing import Any, Callable, Protocol

from . import _imbrex
from ._errors import UsageError
from ._signals import Signals


class Program(Protocol):
    """A main chare that can be restarted: `async def start(self, rt)`, or `(self, rt, words)`, and `restart`, which is as free."""

    @property
    def start(self) -> Callable[..., Any]: ...

    @property
    def restart(self) -> Callable[..., Any]: ...


def can_restart(main: Any) -> bool:
    return all(inspect.iscoroutinefunction(getattr(main, method, None)) for method in ("start", "restart"))


class Main:
    """As the module calls it. `handler`: of Ctrl-C, as the program has it, if the main thread runs the job."""

    def __init__(self, main: Any, handler: Any) -> None:
        self.can_restart = can_restart(main)
        self._main, self._handler = main, handler
        self._given = dict(getattr(main, "__dict__", {})) if self.can_restart else {}

    def begin(self, rt: _imbrex.Runtime, words: list[str]) -> Any:
        if not self.can_restart:
            return self._to_its_end(self._main, rt, words)
        self._as_given()
        return self._to_its_end(self._main.start, rt, words)

    def begin_again(self, rt: _imbrex.Runtime, words: list[str], saved: tuple) -> Any:
        of, state = saved
        if of != self._name:
            raise UsageError(f"the checkpoint is one of the program {of}, and this is {self._name}")
        self._as_given()
        _set_state(self._main, state)
        return self._to_its_end(self._main.restart, rt, words)

    def save(self) -> tuple:
        """What `begin_again` takes."""
        return self._name, _state_of(self._main)

    @property
    def _name(self) -> str:
        return type(self._main).__qualname__

    def _as_given(self) -> None:
        """A job may begin again in the same process."""
        if hasattr(self._main, "__dict__"):
            self._main.__dict__.clear()
            self._main.__dict__.update(self._given)

    async def _to_its_end(self, f: Any, rt: _imbrex.Runtime, words: list[str]) -> Any:
        """With `sys.exit`, as in any program."""
        given = [rt] if len(inspect.signature(f).parameters) == 1 else [rt, words]
        try:
            with Signals(self._handler):
                return await f(*given)
        except SystemExit as e:
            if e.code is None or isinstance(e.code, int):
                return e.code
            print(e.code, file=sys.stderr)
            return 1


def _state_of(o: Any) -> Any:
    """What pickle would keep of it besides its class."""
    reduced = o.__reduce_ex__(2)
    return reduced[2] if isinstance(reduced, tuple) and len(reduced) > 2 else None


def _set_state(o: Any, state: Any) -> None:
    if hasattr(o, "__setstate__"):
        o.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if attributes:
        o.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        setattr(o, name, value)

"""Tasks that are recorded once and run again and again."""

from __future__ import annotations

from typing import Any

from . import _imbrex


class record:  # noqa: N801
    """`with imbrex.record() as w:`: the tasks that are submitted in the block do not run but are kept; then `t = w.replay()`
    submits them all, as often as you like, and `await t` waits for them. The block submits functions and kernels, waits for
    nothing, and takes no views; a task of it is for `after` of others there. Functions are called with the same arguments
    again, and what they return is dropped."""

    def __init__(self) -> None:
        self._window = _imbrex.Window()

    def __enter__(self) -> _imbrex.Window:
        self._window._begin()
        return self._window

    def __exit__(self, failed: Any, *_: Any) -> None:
        self._window._end(failed is None)

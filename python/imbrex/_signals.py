"""Signals while a job runs."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

from . import _imbrex


class Signals:
    """`with Signals(handler):` in the main chare: the program's handlers are called in the main thread when a signal comes, though
    its PE waits, and computes in no Python. `handler`: of SIGINT meanwhile. What a handler throws ends the job, and is thrown by
    `imbrex.run`. Nothing on another thread."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler
        self._is_on = False

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._is_on = True
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._default = signal.signal(signal.SIGINT, self._handler)
        self._thread = threading.Thread(target=_pass_on, args=(self._read, _imbrex.SignalledPe()), daemon=True)
        self._thread.start()

    def __exit__(self, *_: Any) -> None:
        if not self._is_on:
            return
        signal.signal(signal.SIGINT, self._default)
        signal.set_wakeup_fd(self._before)
        os.close(self._write)
        self._thread.join()
        os.close(self._read)


def _pass_on(read: int, pe: _imbrex.SignalledPe) -> None:
    while os.read(read, 64):
        pe.look()

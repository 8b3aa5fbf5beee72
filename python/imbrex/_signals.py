"""Signals while a job runs."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

from . import _imbrex


class Signals:
    """`with Signals(handler):` in the main chare: the program's handlers are called in the main thread when a signal comes, though
    its PE waits, and computes in no Python. `handler`: of SIGINT meanwhile. What a handler throws ends the job, and is thrown by
    `imbrex.run`. A second SIGINT ends the process, exit code 130, where Python's own handler has the first: PEs in methods of the
    program's do not come back before these end. Nothing on another thread."""

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
        self._thread = threading.Thread(target=_pass_on, daemon=True,
                                        args=(self._read, _imbrex.SignalledPe(), self._handler is signal.default_int_handler))
        self._thread.start()

    def __exit__(self, *_: Any) -> None:
        if not self._is_on:
            return
        signal.signal(signal.SIGINT, self._default)
        signal.set_wakeup_fd(self._before)
        os.close(self._write)
        self._thread.join()
        os.close(self._read)


def _pass_on(read: int, pe: _imbrex.SignalledPe, ends_at_the_second: bool) -> None:
    interrupts = 0
    while came := os.read(read, 64):
        interrupts += came.count(signal.SIGINT)
        pe.look()
        if ends_at_the_second and interrupts > 1:
            sys.stderr.write("imbrex: interrupted again, and some PE has not come back from a method: the process ends as it is\n")
            sys.stderr.flush()
            os._exit(130)

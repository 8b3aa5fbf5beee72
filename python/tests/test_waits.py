"""What coroutines wait for: in the order of the program, several at once, in vain, and with signals meanwhile."""

import asyncio
import warnings

import imbrex as ix
import numpy as np
import pytest

from job import job, run_alone


class Waiter(ix.Chare):
    slot = ix.when()

    async def counts(self, n):
        total = 0
        for _ in range(n):
            await asyncio.sleep(0)
            total += 1
        return total

    async def until(self, number):
        return await self.slot(number)

    def fails(self, text):
        raise ValueError(text)

    def gives(self, value):
        return value

    async def two_waits_of_one(self):
        dropped = self.slot(1)
        del dropped
        return await self.slot(1)


def test_others_go_first_at_a_bare_yield():
    @job()
    async def main(rt):
        a = rt.create_array(Waiter, 2)
        assert await a[0].call.counts(100) == 100
        assert await ix.gather(a[0].call.counts(3), a[1].call.counts(5)) == [3, 5]
        order = []

        async def goes(name):
            for _ in range(3):
                order.append(name)
                await asyncio.sleep(0)
            return name

        assert await ix.gather(goes("a"), goes("b")) == ["a", "b"]
        assert order == ["a", "b"] * 3


def test_gather_takes_tasks_and_begins_when_it_is_awaited():
    @job()
    async def main(rt):
        x = ix.Object.of(np.arange(3.0))
        assert await ix.gather(ix.submit(lambda a: a.sum(), x), ix.submit(lambda: 4)) == [3.0, 4]
        call = rt.create(Waiter).call.gives(5)
        with pytest.raises(ix.UsageError, match="not 5"):
            ix.gather(call, 5)
        with pytest.raises(ix.UsageError, match="not None"):
            ix.gather(None)
        assert await call == 5
        one = Waiter.counts(None, 1)
        with pytest.raises(RuntimeError, match="already awaited"):
            await ix.gather(one, one)


def test_a_wait_that_is_dropped_takes_no_message():
    @job()
    async def main(rt):
        c = rt.create(Waiter)
        c.send.slot(1, "the only one")
        assert await c.call.two_waits_of_one() == "the only one"


def test_what_is_never_awaited_is_warned_of():
    @job()
    async def main(rt):
        c = rt.create(Waiter)
        with pytest.warns(RuntimeWarning, match="sends nothing until then"):
            c.call.gives(1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            await c.call.gives(1)


def test_the_report_of_a_deadlock_tells_what_a_gather_has_lost(tmp_path):
    code, said = run_alone(tmp_path, """
        class Waiter(ix.Chare):
            slot = ix.when()
            async def until(self, number): await self.slot(number)
            def fails(self): raise ValueError("cannot read the mesh")

        async def main(rt):
            a = rt.create_array(Waiter, 2)
            await ix.gather(a[0].call.fails(), a[1].call.until(3))
        """)
    assert code == 70
    assert "the others of several that are awaited at once, of which one has thrown" in said
    assert "ValueError: cannot read the mesh" in said


INTERRUPTED = """
    import os, signal, threading, time

    def interrupt(after):
        threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

    class Busy(ix.Chare):
        slot = ix.when()
        def computes(self):
            end = time.time() + 20
            while time.time() < end: sum(range(100))
        async def waits(self): await self.slot(1)

    async def main(rt):
        interrupt(0.3)
        try:
            WAITS
        finally:
            print("cleaned up", flush=True)
    """


@pytest.mark.parametrize("waits", ["await ix.submit(time.sleep, 1)\n            await ix.submit(time.sleep, 20)",
                                   "await rt.create(Busy).call.computes()"])
def test_ctrl_c_ends_the_job_and_the_program_goes_on(tmp_path, waits):
    code, said = run_alone(tmp_path, INTERRUPTED.replace("WAITS", waits), """
        try:
            ix.run(main)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        async def again(rt): return 3
        raise SystemExit(ix.run(again))
        """)
    assert code == 3, said
    assert "interrupted" in said and "cleaned up" in said


def test_a_handler_of_the_program_runs_while_its_job_waits(tmp_path):
    code, said = run_alone(tmp_path, INTERRUPTED.replace("WAITS", """
            while not got: await ix.submit(time.sleep, 0.05)
            """).replace("def interrupt", "got = []\n    def interrupt"), """
        signal.signal(signal.SIGINT, lambda *_: got.append(1))
        code = ix.run(main)
        assert got == [1] and callable(signal.getsignal(signal.SIGINT))
        raise SystemExit(code)
        """)
    assert code == 0, said


@pytest.mark.parametrize(("ends", "code", "word"), [("sys.exit(7)", 7, ""), ("sys.exit()", 0, ""), ("sys.exit('why')", 1, "why"),
                                                    ("return 256", 255, "eight bits"), ("rt.exit(300)", 255, "eight bits")])
def test_exit_codes(tmp_path, ends, code, word):
    found, said = run_alone(tmp_path, f"""
        import sys
        async def main(rt):
            {ends}
        """)
    assert found == code, said
    assert word in said


def test_a_job_inside_of_a_job_is_refused():
    @job()
    async def main(rt):
        async def inner(rt):
            pass

        with pytest.raises(ix.UsageError, match="inside of a job"):
            ix.run(inner, [])

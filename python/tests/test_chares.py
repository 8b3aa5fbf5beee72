"""Chares as classes of Python: in this process, and over two processes of mpirun."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import imbrex as ix
import numpy as np
import pytest

from job import run_over_processes


class Block(ix.Chare):
    halo = ix.when()

    def __init__(self, size, scale=1.0):
        self.values = np.full(size, float(self.index) * scale)

    async def run(self, steps):
        for i in range(steps):
            self.array[(self.index + 1) % self.extent].send.halo(i, self.values[-1])
            self.values[0] += await self.halo(i)
        self.contribute(self.values.sum())

    def first(self):
        return float(self.values[0])

    def numbers(self):
        return self.index, self.extent, self.pe, self.num_pes, self.rank

    async def all_of(self, op, value):
        result = await self.allreduce(value, op)
        await self.barrier()
        return result

    def fails(self):
        raise KeyError(f"no good at {self.index}")

    def fails_oddly(self):
        class Odd(Exception):
            pass

        raise Odd("cannot be pickled")

    async def asks(self, other):
        return await other.call.first()

    def give_channel(self):
        return self.channel(self.array[1], 0, 0)

    def myself(self):
        return self


def run(main, *words, pes=2):
    return ix.run(main, list(words), pes=pes)


def test_messages_slots_and_reductions():
    found = {}

    async def main(rt):
        blocks = rt.create_array(Block, 8, 10, scale=2)
        blocks.broadcast.run(5)
        found["sum"] = await blocks.reduction()
        found["first"] = await ix.gather(*(blocks[i].call.first() for i in range(8)))

    assert run(main) == 0
    assert found["sum"] == 20 * 28 + 10 * 28
    assert found["first"] == [2 * i + 10 * ((i - 1) % 8) for i in range(8)]


def test_the_main_chare_gives_the_exit_code_and_has_the_words():
    seen = []

    async def main(rt, words):
        seen.append(words)
        return 3

    assert ix.run(main, ["--mine", "--imbrex-pes=1", "x"]) == 3
    assert seen == [["--mine", "x"]]


def test_the_main_chare_gives_a_number_or_nothing(capfd):
    async def main(rt):
        return "done"

    async def fails(rt):
        raise ValueError("no input")

    async def waits(rt):
        await Elsewhere()

    class Elsewhere:
        def __await__(self):
            yield "something of another library"

    assert run(main) == 2
    assert "'done'" in capfd.readouterr().err
    assert run(fails) == 1
    assert "no input" in capfd.readouterr().err
    assert run(waits) == 2
    assert "not of imbrex" in capfd.readouterr().err


@pytest.mark.parametrize("shape", [5, (5,), (3, 2), (2, 2, 3)])
def test_arrays_have_one_to_three_dimensions(shape):
    found = []

    async def main(rt):
        array = rt.create_array(Block2, shape)
        array.broadcast.tell()
        found.append(await array.reduction())

    assert run(main) == 0
    count = int(np.prod(shape))
    assert len(found[0]) == count
    assert len(set(found[0])) == count


class Block2(ix.Chare):
    def tell(self):
        self.contribute([self.index], ix.concatenate)


def test_operations_of_reductions():
    found = {}

    async def main(rt):
        blocks = rt.create_array(Block, 4, 1)
        for name, op, values in [
            ("sum", ix.sum, [1, 2, 3, 4]),
            ("product", ix.product, [1, 2, 3, 4]),
            ("min", ix.min, [3, 1, 2, 4]),
            ("max", ix.max, [3, 1, 2, 4]),
            ("arrays", ix.max, [np.array([i, -i]) for i in range(4)]),
            ("own", farther, [3, -7, 2, 5]),
        ]:
            found[name] = (await ix.gather(*(blocks[i].call.all_of(op, values[i]) for i in range(4))))[2]

    assert run(main) == 0
    assert found["sum"] == 10 and found["product"] == 24 and found["min"] == 1 and found["max"] == 4
    assert list(found["arrays"]) == [3, 0]
    assert found["own"] == -7


def farther(a, b):
    return a if abs(a) >= abs(b) else b


def test_an_exception_arrives_where_it_is_awaited():
    found = {}

    async def main(rt):
        blocks = rt.create_array(Block, 3, 1)
        try:
            await blocks[2].call.fails()
        except KeyError as e:
            found["known"] = (str(e), str(e.__cause__))
        try:
            await blocks[1].call.fails_oddly()
        except Exception as e:  # of a class that pickle does not find; in the process it goes as it is
            found["odd"] = f"{type(e).__name__}: {e.__cause__}"
        try:
            await blocks[1].call.nothing_of_that_name()
        except ix.UsageError as e:
            found["missing"] = str(e)
        try:
            await blocks[1].call._private()
        except ix.UsageError as e:
            found["private"] = str(e)
        found["goes on"] = await blocks[0].call.asks(blocks[2])

    assert run(main) == 0
    assert found["known"][0] == "'no good at 2'"
    assert "Block.fails" in found["known"][1] and "line" in found["known"][1]
    assert found["odd"].startswith("Odd") and "Block.fails_oddly" in found["odd"]
    assert "nothing_of_that_name" in found["missing"]
    assert "_private" in found["private"]
    assert found["goes on"] == 2


def test_one_that_nobody_awaits_ends_the_job(capfd):
    async def main(rt):
        blocks = rt.create_array(Block, 3, 1)
        blocks[1].send.fails()
        await blocks.reduction()

    assert run(main) == 70
    said = capfd.readouterr().err
    assert "Block.fails" in said and "no good at 1" in said and "test_chares.py" in said


def test_a_trace_names_classes_and_methods(tmp_path):
    async def main(rt):
        blocks = rt.create_array(Block, 2, 1)
        blocks.broadcast.run(3)
        await blocks.reduction()

    trace = tmp_path / "trace.json"
    assert run(main, f"--imbrex-trace={trace}") == 0
    names = {e.get("name") for e in json.loads(trace.read_text())["traceEvents"]}
    assert {"Block.run", "Block.halo", "the main chare", "creation of Block", "broadcast of Block.run"} <= names
    assert not [n for n in names if n and "python_chare" in n]


@pytest.mark.parametrize("ranks", ["--imbrex-ranks=1", "--imbrex-ranks=2"])
@pytest.mark.parametrize("alone", [False, True])
def test_what_never_comes_is_reported(capfd, ranks, alone):
    async def main(rt):
        await (rt.create(Waiting) if alone else rt.create_array(Waiting, 2)[1]).call.wait_for_ever()

    assert run(main, ranks) == 70
    said = capfd.readouterr().err
    who = "Waiting" if alone else "Waiting(1)"
    assert f"Waiting.wait_for_ever of {who} waits for Waiting.message(7)" in said
    assert "the reply of Waiting.wait_for_ever" in said and ("from element (1)" in said or alone)
    assert "imbrex_python" not in said


class Unlucky(ix.Chare):
    def __init__(self, where=None):
        if self.index == where:
            raise ValueError("unlucky")

    def fails(self):
        raise ValueError("unlucky")


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("what", ["made", "sent"])
def test_failures_name_the_class(capfd, alone, what):
    async def main(rt):
        where = "nowhere" if what == "sent" else None if alone else 1
        one = rt.create(Unlucky, where) if alone else rt.create_array(Unlucky, 2, where)[1]
        one.send.fails()
        await rt.quiescence()

    assert run(main) == 70
    said = capfd.readouterr().err
    who = "Unlucky" if alone else "Unlucky(1)"
    assert f"{'the constructor' if what == 'made' else 'Unlucky.fails'} of {who} on PE" in said
    assert "imbrex_python" not in said


class Waiting(ix.Chare):
    message = ix.when()

    async def wait_for_ever(self):
        await self.message(7)

    async def in_any_order(self):
        a = await self.message(2)
        b = await self.message(1)
        c = await self.message("c")
        return a, b, c


def test_slots_match_numbers_in_whatever_order_they_come():
    found = []

    async def main(rt):
        waiting = rt.create(Waiting)
        waiting.send.message(1, "one")
        waiting.send.message("c")
        waiting.send.message(2, "two", 22)
        found.append(await waiting.call.in_any_order())

    assert run(main) == 0
    assert found == [(("two", 22), "one", None)]


class Pair(ix.Chare):
    async def exchange(self, count):
        other = self.array[1 - self.index]
        channel = self.channel(other, 0, 0)
        mine = np.arange(count, dtype=float) + self.index
        theirs = np.empty(count)
        for _ in range(10):
            sent = channel.send(mine)
            await channel.recv(theirs)
            await sent
            assert theirs[0] == 1 - self.index and theirs[-1] == count - 1 + 1 - self.index
        return float(theirs.sum())

    async def wrong(self):
        channel = self.channel(self.array[1 - self.index], 1, 1)
        sent = channel.send(np.zeros(3 - self.index))
        try:
            await channel.recv(np.empty(3))
        finally:
            await sent


def test_channels_carry_arrays():
    found = {}

    async def main(rt):
        pair = rt.create_array(Pair, 2)
        found["sums"] = await ix.gather(pair[0].call.exchange(1000), pair[1].call.exchange(1000))
        try:
            await ix.gather(pair[0].call.wrong(), pair[1].call.wrong())
        except ix.UsageError as e:
            found["wrong"] = str(e)

    assert run(main) == 0
    assert found["sums"] == [499500 + 1000, 499500]
    assert "16 bytes" in found["wrong"] and "24" in found["wrong"]


class Gappy(ix.Chare):
    async def wrong(self):
        channel = self.channel(self.array[1 - self.index], 0, 0)
        a = np.zeros((4, 6))
        a.flags.writeable = False
        refused = 0
        for use, array in [(channel.send, a[:, ::2]), (channel.send, a.T), (channel.send, [1, 2]), (channel.recv, np.zeros((4, 6))[:, ::2]),
                           (channel.recv, np.zeros((4, 6)).T), (channel.recv, a), (channel.recv, [1, 2])]:
            try:
                use(array)
            except ix.UsageError as e:
                refused += "C order" in str(e) or "read-only" in str(e)
        return refused


def test_channels_take_no_arrays_with_gaps():
    found = []

    async def main(rt):
        found.append(await rt.create_array(Gappy, 2)[0].call.wrong())

    assert run(main) == 0
    assert found == [7]


class Traveller(ix.Chare):
    def __init__(self):
        self.seen = [self.pe]

    def go(self, pe):
        self.migrate_to(pe)

    def note(self):
        self.seen.append(self.pe)
        return self.seen


def test_chares_move():
    found = []

    async def main(rt):
        travellers = rt.create_array(Traveller, 4)
        travellers[0].send.go(1)
        await rt.quiescence()
        found.append(await travellers[0].call.note())

    assert run(main) == 0
    assert found == [[0, 1]]


def test_what_makes_no_sense_is_said():
    with pytest.raises(ix.UsageError, match="async def main"):
        ix.run(lambda rt: 0, [])

    async def main(rt):
        with pytest.raises(ix.UsageError, match="derives from imbrex.Chare"):
            rt.create_array(dict, 3)
        with pytest.raises(ix.UsageError, match="one to three dimensions"):
            rt.create_array(Block, (1, 2, 3, 4), 1)
        with pytest.raises(ix.UsageError, match="awaited before"):
            waiting = rt.quiescence()
            await waiting
            await waiting

    assert run(main) == 0


PROGRAM = '''
import imbrex as ix, numpy as np

class Block(ix.Chare):
    def __init__(self):
        self.data = np.arange(100000.0) + self.index
        self.places = [self.rank]
    def total(self, other):
        return float((self.data + other).sum())
    def go(self, pe):
        self.migrate_to(pe)
    def note(self):
        self.places.append(self.rank)
        return self.places, float(self.data[-1])
    def fails(self):
        raise ValueError("far away")
    async def exchange(self):
        c = self.channel(self.array[(self.index + 1) % 2], 3, 3)
        into = np.empty_like(self.data)
        sent = c.send(self.data)
        await c.recv(into)
        await sent
        return float(into[0])

async def main(rt):
    assert rt.num_ranks == 2, rt.num_ranks
    blocks = rt.create_array(Block, 2)
    assert await blocks[1].call.total(np.ones(100000)) == 4999950000 + 200000
    try:
        await blocks[1].call.fails()
        return 5
    except ValueError as e:
        assert str(e) == "far away" and "Block.fails" in str(e.__cause__)
    assert await ix.gather(blocks[0].call.exchange(), blocks[1].call.exchange()) == [1, 0]
    more = rt.create_array(Block, 2)
    more[0].send.go(rt.num_pes - 1)
    await rt.quiescence()
    places, last = await more[0].call.note()
    assert places == [0, 1] and last == 99999, places
    print("all is well")
    return 0

if __name__ == "__main__":
    raise SystemExit(ix.run(main))
'''


@pytest.mark.parametrize("pes", [1, 2])
def test_over_two_processes(tmp_path, pes):
    assert "all is well" in run_over_processes(tmp_path, PROGRAM, words=[f"--imbrex-pes={pes}"])


def test_what_outlives_the_job_says_so():
    kept = {}

    async def main(rt):
        kept["rt"] = rt
        kept["blocks"] = rt.create_array(Block, 2, 1)
        kept["channel"] = await kept["blocks"][0].call.give_channel()
        kept["chare"] = await kept["blocks"][0].call.myself()

    assert run(main, pes=1) == 0
    for what in (
        lambda: kept["rt"].num_pes,
        lambda: kept["rt"].create_array(Block, 2, 1),
        lambda: kept["blocks"][0].send.first(),
        lambda: kept["blocks"].broadcast.first(),
        lambda: kept["channel"].send(np.zeros(1)),
    ):
        with pytest.raises(ix.UsageError, match="inside of a job"):
            what()
    with pytest.raises(ix.UsageError, match="no longer"):
        kept["chare"].index


def test_arrays_of_a_broadcast_are_each_ones_own():
    found = []

    async def main(rt):
        blocks = rt.create_array(Changing, 4)
        blocks.broadcast.change(np.zeros(1000))
        found.append(await blocks.reduction())

    assert run(main) == 0
    assert found == [4 * 1000]


class Changing(ix.Chare):
    def change(self, values):
        values += 1
        self.contribute(values.sum())


def test_control_c_ends_a_job_that_waits(tmp_path):
    program = tmp_path / "sleeps.py"
    program.write_text(
        "import imbrex as ix, time\n"
        "class Sleeper(ix.Chare):\n"
        "    def sleep(self):\n"
        "        print('asleep', flush=True)\n"
        "        time.sleep(60)\n"
        "async def main(rt):\n"
        "    await rt.create_array(Sleeper, 1)[0].call.sleep()\n"
        "ix.run(main)\n")
    job = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True,
                           env=dict(os.environ, PYTHONPATH=str(Path(ix.__file__).parent.parent)))
    assert job.stdout.readline() == "asleep\n"
    job.send_signal(signal.SIGINT)
    assert job.wait(timeout=20) == -signal.SIGINT


def test_a_second_interrupt_does_not_wait_for_other_pes(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import imbrex as ix\n"
        "class Busy(ix.Chare):\n"
        "    def spin(self):\n"
        "        print('busy', flush=True)\n"
        "        while True:\n"
        "            pass\n"
        "async def main(rt):\n"
        "    rt.create_array(Busy, 2)[1].send.spin()\n"
        "    await rt.quiescence()\n"
        "ix.run(main, [], pes=2)\n")
    job = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env=dict(os.environ, PYTHONPATH=str(Path(ix.__file__).parent.parent)))
    assert job.stdout.readline() == "busy\n"
    job.send_signal(signal.SIGINT)
    time.sleep(0.5)  # else the two would be one
    job.send_signal(signal.SIGINT)
    assert "interrupted again" in job.communicate(timeout=20)[1]
    assert job.returncode == 130


def test_importing_leaves_the_lock_of_the_interpreter_off():
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this CPython is not free-threaded")
    done = subprocess.run([sys.executable, "-W", "error", "-c", "import sys, imbrex; sys.exit(sys._is_gil_enabled())"], check=False,
                          env=dict(os.environ, PYTHONPATH=str(Path(ix.__file__).parent.parent)))
    assert done.returncode == 0


class Passing(ix.Chare):
    def take(self, shared, count):
        return shared["n"] + count


def test_one_value_goes_to_several_processes_at_once():
    """What was sent to one rank and to another is pickled by both PEs' threads."""
    found = []

    async def main(rt):
        array = rt.create_array(Passing, 8)
        for i in range(50):
            shared = {"n": i, "array": np.full(1000, i)}
            found.append(await ix.gather(*(array[k].call.take(shared, k) for k in range(8))))

    assert run(main, "--imbrex-ranks=2", pes=2) == 0
    assert found == [[i + k for k in range(8)] for i in range(50)]

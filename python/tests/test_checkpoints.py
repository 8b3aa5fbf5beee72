"""Programs of Python that are restarted: from files, in the same processes after a loss, and with other numbers of PEs."""

import shutil

import imbrex as ix
import pytest

from job import job, run_alone

# A rod that cools, in pieces; each has an Object, a channel to the right and messages in a slot when a checkpoint is made.
ROD = """
    import numpy as np

    class Piece(ix.Chare):
        left = ix.when()

        def __init__(self, n):
            self.n, self.step = n, 0
            self.heat = np.zeros(n)
            if self.index == 0:
                self.heat[0] = 1e6
            self.total = ix.Object.of(np.zeros(n))
            self.right = self.left_end = None

        def connect(self):
            if self.right is None and self.index + 1 < self.extent:
                self.right = self.channel(self.array[self.index + 1], 0, 1)
            if self.left_end is None and self.index > 0:
                self.left_end = self.channel(self.array[self.index - 1], 1, 0)

        async def run(self, last):
            self.connect()
            while self.step < last:
                edge = self.heat[-1:].copy()
                sent = self.right.send(edge) if self.right else None
                if self.left_end:
                    came = await self.left_end.recv(np.empty(1))
                    self.heat[0] += 0.25 * (came[0] - self.heat[0])
                if sent:
                    await sent
                self.heat[1:] += 0.25 * (self.heat[:-1] - self.heat[1:])
                ix.submit(lambda t, h: np.add(t, h, out=t), self.total, self.heat.copy())
                self.step += 1
                if self.step == 7:
                    self.array[(self.index + 1) % self.extent].send.left(100, self.index)
                if self.step % 10 == 0:
                    await self.checkpoint_point()
            assert await self.left(100) == (self.index - 1) % self.extent
            total = await self.total.get()
            self.contribute([(self.index, float(self.heat.sum()), float(total.sum()))], ix.concatenate)

    class Rod:
        def __init__(self, steps):
            self.steps = steps
            self.restarts = 0

        async def start(self, rt):
            self.pieces = rt.create_array(Piece, 6, 8)
            return await self.finish()

        async def restart(self, rt):
            self.restarts += 1
            return await self.finish()

        async def finish(self):
            self.pieces.broadcast.run(self.steps)
            all = sorted(await self.pieces.reduction())  # the same bits, in whatever order they came
            print(f"heat {all} restarts {self.restarts} steps {self.steps}")
"""
RUN = "raise SystemExit(ix.run(Rod(40)))"


def result(said):
    return [line.split(" restarts ")[0] for line in said.splitlines() if line.startswith("heat ")]


def test_a_program_goes_on_from_a_checkpoint_on_any_number_of_pes_and_ranks(tmp_path):
    folder = tmp_path / "kept"
    code, whole = run_alone(tmp_path, ROD, RUN)
    assert code == 0, whole
    code, said = run_alone(tmp_path, ROD, RUN, words=[f"--imbrex-checkpoint={folder}", "--imbrex-checkpoint-every=2", "--imbrex-pes=2"])
    assert code == 0 and result(said) == result(whole), said
    assert sorted(p.name for p in folder.iterdir()) == ["000001", "000002"]
    for words in ([], ["--imbrex-pes=3"], ["--imbrex-ranks=3"]):
        for number in ("000001", "000002"):
            code, said = run_alone(tmp_path, ROD, RUN, words=[f"--imbrex-restart={folder / number}", *words])
            assert code == 0 and result(said) == result(whole) and "restarts 1 " in said, said
    shutil.rmtree(folder / "000002")
    code, said = run_alone(tmp_path, ROD, RUN,
                           words=[f"--imbrex-checkpoint={folder}", "--imbrex-restart=auto", "--imbrex-checkpoint-every=1"])
    assert code == 0 and result(said) == result(whole), said


def test_a_program_goes_on_in_its_processes_when_ranks_are_lost(tmp_path):
    code, whole = run_alone(tmp_path, ROD, RUN)
    for seed, after in enumerate((40, 80, 40, 80)):
        code, said = run_alone(tmp_path, ROD, RUN,
                               words=["--imbrex-ranks=3", "--imbrex-checkpoint-memory=1", f"--imbrex-loopback-lose-after={after}",
                                      f"--imbrex-loopback-seed={seed}"])
        assert code == 0 and set(result(said)) == set(result(whole)), said  # more than once, if the loss comes after it
        assert "ranks lost; the job goes on" in said


def test_the_number_of_pes_changes_in_the_same_process(tmp_path):
    code, said = run_alone(tmp_path, """
        kept = []

        class Cell(ix.Chare):
            def __init__(self): self.step = 0
            async def run(self, last):
                while self.step < last:
                    self.step += 1
                    await self.checkpoint_point()
                self.contribute(self.step)

        class Program:
            async def start(self, rt):
                self.cells = rt.create_array(Cell, 5)
                kept.append(self.cells)
                kept.append(ix.Object(4))
                rt.resize(3)
                return await self.finish(rt)
            async def restart(self, rt):
                for old in kept:   # of PEs that are gone
                    try:
                        old.broadcast.run(1) if old is kept[0] else old.prefetch("host")
                        print("no error")
                    except ix.UsageError as e:
                        print(e)
                return await self.finish(rt)
            async def finish(self, rt):
                self.cells.broadcast.run(4)
                print(await self.cells.reduction(), "steps on", rt.num_pes)
        """, "raise SystemExit(ix.run(Program()))", words=["--imbrex-checkpoint-memory=1"])
    assert code == 0, said
    assert "20 steps on 3" in said
    assert said.count("belongs to a job that has ended") == 2


def test_the_main_chare_leads_from_phase_to_phase(tmp_path):
    # `__getstate__` leaves out what `main` gives, so a restart may have another one.
    class Program:
        def __init__(self, phases):
            self.phases, self.done, self.made = phases, 0, []

        def __getstate__(self):
            return {k: v for k, v in vars(self).items() if k not in ("phases", "made")}

        async def start(self, rt):
            self.cell = rt.create_array(Counter, 3)
            await self.go_on(rt)

        async def restart(self, rt):
            await self.go_on(rt)

        async def go_on(self, rt):
            while self.done < self.phases:
                self.cell.broadcast.work()
                self.total = await self.cell.reduction()
                self.done += 1
                if self.done == 2:
                    self.made.append(await rt.checkpoint(str(tmp_path / "by_name")))
                self.made.append(await rt.checkpoint_point())

    first = Program(3)
    assert ix.run(first, [f"--imbrex-checkpoint={tmp_path / 'at_points'}", "--imbrex-checkpoint-every=2"]) == 0
    assert first.total == 9
    assert first.made == [False, str(tmp_path / "by_name" / "000001"), True, False]
    again = Program(5)
    assert ix.run(again, [f"--imbrex-restart={tmp_path / 'by_name'}"]) == 0
    assert (again.phases, again.done, again.total) == (5, 5, 15)
    assert again.made == [False] * 3


class Counter(ix.Chare):
    def __init__(self):
        self.phases = 0

    def work(self):
        self.phases += 1
        self.contribute(self.phases)


class Unkept(ix.Chare):
    slot = ix.when()

    def __init__(self):
        self.lock = __import__("threading").Lock()

    async def run(self):
        return await self.checkpoint_point()

    async def waits(self):
        await self.slot(1)


class Tries:
    def __init__(self, what, folder):
        self.what, self.folder, self.said = what, str(folder), None

    async def start(self, rt):
        try:
            await self.what(rt)
            await rt.checkpoint(self.folder)
        except Exception as e:  # noqa: BLE001
            self.said = str(e)

    async def restart(self, rt):
        pass


async def an_array_with_a_lock(rt):
    rt.create_array(Unkept, 1)


async def a_coroutine_that_waits(rt):
    a = rt.create_array(Unkept, 1)
    a[0].send.waits()
    await rt.quiescence()
    a[0].send.slot(2, "left")


async def nothing(rt):
    pass


async def an_object_of_all_pes(rt):
    holder = rt.create(Holder)
    await holder.call.make()


class Holder(ix.Chare):
    async def make(self):
        self.x = ix.Object(4, domain=await ix.process_domain())


def test_why_a_checkpoint_cannot_be_made_is_thrown(tmp_path):
    for what, reason in ((an_array_with_a_lock, "cannot pickle '_thread.lock' object"),
                         (a_coroutine_that_waits, "coroutines cannot be kept"),
                         (an_object_of_all_pes, "kept in no checkpoint")):
        program = Tries(what, tmp_path / what.__name__)
        assert ix.run(program, []) in (0, 70)
        assert reason in program.said, program.said
    program = Tries(nothing, tmp_path / "program")
    program.what = nothing
    program.folder = str(tmp_path / "program")
    program.lock = __import__("threading").Lock()
    assert ix.run(program, []) == 0
    assert "cannot pickle" in program.said


def test_what_cannot_be_restarted_says_so(tmp_path, capfd):
    async def main(rt):
        pass

    assert ix.run(main, [f"--imbrex-checkpoint={tmp_path}"]) == 2
    assert "an object with start and restart that imbrex.run is given" in capfd.readouterr().err
    with pytest.raises(ix.UsageError, match=r"imbrex.run\(Tries\(\)\)"):
        ix.run(Tries)

    made = Tries(nothing, tmp_path / "made")
    assert ix.run(made, []) == 0
    assert made.said is None

    class Other(Tries):
        pass

    assert ix.run(Other(nothing, tmp_path), [f"--imbrex-restart={tmp_path / 'made'}"]) == 1
    assert "is one of the program Tries, and this is " in capfd.readouterr().err


def test_points_are_for_elements_of_arrays_and_cost_nothing_else():
    @job()
    async def main(rt):
        assert await rt.create_array(Unkept, 1)[0].call.run() is False
        assert await rt.checkpoint_point() is False
        with pytest.raises(ix.UsageError, match="elements of an array"):
            await rt.create(Unkept).call.run()

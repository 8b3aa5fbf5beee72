"""Chares that make chares, wherever they are, and arrays whose elements come and go."""

import imbrex as ix
import pytest

from job import job, run_alone, run_over_processes

SHAPES = [[], ["--imbrex-pes=3"], ["--imbrex-ranks=2"], ["--imbrex-ranks=3", "--imbrex-pes=2", "--imbrex-schedule-seed=5"]]


class Queens(ix.Chare):
    """Counts the places of the other queens, by chares of its own for each place of the next."""

    def __init__(self, n, at, rt):
        self.n, self.at = n, at
        assert rt.num_pes == self.num_pes == self.runtime.num_pes

    async def count(self):
        row = len(self.at)
        if row == self.n:
            self.destroy()
            return 1
        free = [c for c in range(self.n) if all(c != b and abs(c - b) != row - r for r, b in enumerate(self.at))]
        below = [self.runtime.create(Queens, self.n, (*self.at, c), self.runtime) for c in free]
        found = sum(await ix.gather(*(b.call.count() for b in below)))
        self.destroy()
        return found


class Patch(ix.Chare):
    """Of a segment that is cut in two where it is long: the left half stays, the right one is inserted."""

    def __init__(self, first, last):
        self.first, self.last = first, last

    async def refine(self, longest):
        while self.last - self.first > longest:
            middle = (self.first + self.last) // 2
            right, self.last = (middle, self.last), middle
            await self.array.insert(middle, Patch, *right)
            self.array[middle].send.refine(longest)

    def measure(self):
        self.contribute((1, self.last - self.first), both)

    def where(self):
        return self.pe

    def end(self):
        self.destroy()


def both(a, b):
    return a[0] + b[0], a[1] + b[1]


class Counter(ix.Chare):
    def __init__(self, begin=0):
        self.n = begin

    def add(self, n):
        self.n += n

    def get(self):
        return type(self).__name__, self.n


class Doubler(Counter):
    def add(self, n):
        self.n += 2 * n


@pytest.mark.parametrize("words", SHAPES)
def test_chares_make_chares_wherever_they_are(words):
    @job(*words)
    async def main(rt):
        assert await rt.create(Queens, 5, (), rt).call.count() == 10


@pytest.mark.parametrize("words", SHAPES)
def test_elements_are_inserted_while_others_are(words):
    @job(*words)
    async def main(rt):
        patches = rt.create_empty_array()
        await patches.insert(0, Patch, 0, 100)
        patches[0].send.refine(7)
        await rt.quiescence()
        patches.broadcast.measure()
        assert await patches.reduction() == (16, 100)
        patches.destroy()
        await rt.quiescence()
        await patches.insert(50, Patch, 1, 4)
        patches.broadcast.measure()
        assert await patches.reduction() == (1, 3)


@pytest.mark.parametrize("words", SHAPES)
def test_an_insertion_that_is_not_awaited_happens(words):
    @job(*words)
    async def main(rt):
        a = rt.create_empty_array(2)
        a[3, 1].send.add(4)  # waits for it
        a.insert((3, 1), Counter, begin=10)
        a.insert((0, 0), Doubler)
        a[0, 0].send.add(3)
        await rt.quiescence()
        assert await a[3, 1].call.get() == ("Counter", 14)
        assert await a[0, 0].call.get() == ("Doubler", 6)


@pytest.mark.parametrize("words", SHAPES)
def test_an_element_goes_where_it_is_wanted_and_comes_in_the_place_of_another(words):
    @job(*words)
    async def main(rt):
        a = rt.create_empty_array()
        for pe in range(rt.num_pes):
            await a.insert_on(pe, pe, Patch, 0, 1)
        assert [await a[pe].call.where() for pe in range(rt.num_pes)] == list(range(rt.num_pes))
        a.insert_if_absent(0, Patch, 5, 6)
        await a.insert_if_absent(7, Patch, 5, 7)
        a.broadcast.measure()
        assert await a.reduction() == (rt.num_pes + 1, rt.num_pes + 2)
        a[0].send.end()
        await a.insert(0, Patch, 0, 9)
        a.broadcast.measure()
        assert await a.reduction() == (rt.num_pes + 1, rt.num_pes + 10)


def test_an_insertion_where_one_lives_is_an_error_of_the_insertion():
    @job()
    async def main(rt):
        a = rt.create_array(Counter, 2)
        with pytest.raises(ix.UsageError, match=r"Counter\(1\) was inserted, but it exists already"):
            await a.insert(1, Counter)


@pytest.mark.parametrize(("use", "word"), [
    (lambda rt, a: a.insert(0, int), "derives from imbrex.Chare"),
    (lambda rt, a: a.insert((0, 1), Counter), "2 dimensions, and the array has 1"),
    (lambda rt, a: a.insert_on(99, 0, Counter), "there is no PE 99"),
    (lambda rt, a: rt.create_empty_array(4), "one to three dimensions"),
])
def test_wrong_insertions_are_refused_at_once(use, word):
    @job()
    async def main(rt):
        a = rt.create_empty_array()
        with pytest.raises(ix.UsageError, match=word):
            use(rt, a)


def test_the_runtime_is_of_its_job():
    kept = {}

    @job()
    async def first(rt):
        kept["a"] = rt.create_empty_array()
        kept["insertion"] = kept["a"].insert(0, Counter)

    kept.clear()  # what is given up after its job is not done, and no error

    @job()
    async def second(rt):
        assert await rt.create(Counter).call.get() == ("Counter", 0)


PROGRAM = """
import imbrex as ix
from test_growing import Patch, Queens

async def main(rt):
    assert await rt.create(Queens, 5, (), rt).call.count() == 10
    a = rt.create_empty_array()
    await a.insert(0, Patch, 0, 100)
    a[0].send.refine(7)
    await rt.quiescence()
    a.broadcast.measure()
    print("found", await a.reduction(), rt.num_ranks)

raise SystemExit(ix.run(main))
"""


def test_over_processes(tmp_path):
    assert "found (16, 100) 2" in run_over_processes(tmp_path, PROGRAM)


def test_a_section_that_cannot_be_is_refused_where_it_is_made():
    @job("--imbrex-pes=2")
    async def main(rt):
        a = rt.create_array(Counter, 8)
        for members, word in (([], "has no members"), ([1, 99], r"no element \(99\)"), (3, "3 are no indices")):
            with pytest.raises(ix.UsageError, match=word):
                a.section(members)


def test_a_section_that_was_freed_says_so(tmp_path):
    code, said = run_alone(tmp_path, """
        class A(ix.Chare): pass

        async def main(rt):
            s = rt.create_array(A, 4).section([1, 2])
            s.free()
            await s.reduction()
        """)
    assert code == 70
    assert "the section has been freed" in said

"""Reductions over chares: what is combined, of whom it is, and who disagrees. That of tasks is in test_reduce.py."""

from collections import Counter

import imbrex as ix
import numpy as np
import pytest

from job import job


def merge(a, b):
    a.update(b)
    return a


class Part(ix.Chare):
    def __init__(self):
        self.u = np.zeros(3)

    def give(self, op, by_array):
        self.contribute(np.full((2, 2), self.index) if by_array else self.index, op)

    def give_of_other_lengths(self):
        self.contribute(np.full(self.index, self.index), ix.concatenate)

    def give_and_go_on(self):
        self.contribute(self.u, ix.sum)
        self.u += 1

    async def divide(self):
        total = await self.allreduce(np.ones(2))
        total /= self.extent
        return total

    async def count(self):
        seen = None
        for _ in range(3):
            seen = await self.allreduce(Counter(a=1), merge)
            seen["a"] += 100
        return seen["a"]

    def disagree(self):
        self.contribute(1, ix.max if self.index == 2 else ix.sum)

    def agree_on_a_lambda(self):
        self.contribute(self.index, lambda a, b: a + b)

    def go_wrong(self):
        yield self.contribute(1)

    async def go_wrong_later(self):
        yield 1


@pytest.mark.parametrize("pes", [1, 3])
def test_concatenate_puts_behind_one_another(pes):
    @job(pes=pes)
    async def _(rt):
        parts = rt.create_array(Part, 4)
        parts.broadcast.give(ix.concatenate, True)
        found = await parts.reduction()
        assert found.shape == (8, 2) and sorted(found[:, 0]) == [0, 0, 1, 1, 2, 2, 3, 3]
        parts.broadcast.give(ix.concatenate, False)
        assert sorted(await parts.reduction()) == [0, 1, 2, 3]
        parts.broadcast.give_of_other_lengths()
        assert sorted(await parts.reduction()) == [1, 2, 2, 3, 3, 3]


@pytest.mark.parametrize("pes", [1, 3])
def test_what_is_contributed_and_given_is_nobody_elses(pes):
    @job(pes=pes)
    async def _(rt):
        parts = rt.create_array(Part, 4)
        parts.broadcast.give_and_go_on()
        assert np.array_equal(await parts.reduction(), np.zeros(3))
        for total in await ix.gather(*[parts[i].call.divide() for i in range(4)]):
            assert np.array_equal(total, np.ones(2))
        assert await ix.gather(*[parts[i].call.count() for i in range(4)]) == [104] * 4


@pytest.mark.parametrize("pes", [1, 3])
def test_elements_name_the_same_operation(pes, capfd):
    async def main(rt):
        parts = rt.create_array(Part, 4)
        parts.broadcast.disagree()
        await parts.reduction()

    assert ix.run(main, [], pes=pes) == 70
    assert "elements disagree about a reduction: one contributes by '" in capfd.readouterr().err


@pytest.mark.parametrize("pes", [1, 3])
def test_a_lambda_of_each_is_the_same(pes):
    @job(pes=pes)
    async def _(rt):
        parts = rt.create_array(Part, 4)
        parts.broadcast.agree_on_a_lambda()
        assert await parts.reduction() == 6


def test_generators_are_no_entry_methods():
    @job()
    async def _(rt):
        parts = rt.create_array(Part, 1)
        for call in (parts[0].call.go_wrong(), parts[0].call.go_wrong_later()):
            with pytest.raises(ix.UsageError, match="has a `yield`"):
                await call


def test_waits_that_are_forgotten_are_warned_of():
    with pytest.warns(RuntimeWarning, match=r"array.reduction\(\) was never awaited"):

        @job()
        async def _(rt):
            rt.create_array(Part, 1).reduction()


def test_tasks_know_no_other_operations():
    @job()
    async def _(rt):
        with pytest.raises(ix.UsageError, match="does not reduce by 'summ'"):
            ix.reduce(ix.Object(3, "f8"), "summ")


class Sender(ix.Chare):
    def send(self, kind):
        array = np.zeros((4, 4))[:, ::2] if kind == "gaps" else np.array([1, "a"], dtype=object)
        self.channel(self.array[0], 0, 0).send(array)


@pytest.mark.parametrize(("kind", "why"), [("gaps", "ascontiguousarray"), ("objects", "objects of Python")])
def test_arrays_that_channels_do_not_take_are_told_why(kind, why):
    @job()
    async def _(rt):
        with pytest.raises(ix.UsageError, match=why):
            await rt.create_array(Sender, 1)[0].call.send(kind)

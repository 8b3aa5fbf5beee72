"""What is said of programs that are wrong, and that nothing is lost or waits for ever."""

import imbrex as ix
import numpy as np
import pytest

from job import job, run_alone


class Thing(ix.Chare):
    def __init__(self, value=None):
        self.value = value

    def take(self, value):
        self.value = value

    def give_a_lambda(self):
        return lambda: 0

    def give_what_cannot_be_read(self):
        return Unreadable()

    def fail_with_odd_text(self):
        raise ValueError("cannot read m\udce9sh.dat\0")

    def fail_with_two(self):
        raise Two(1, 2)

    def fail_with_what_cannot_be_pickled(self):
        raise Holding("kept", lambda: 0)

    def meet(self, port):
        return self.channel(self.array[1 - self.index], port, 0)

    def stop(self):
        return next(iter([]))

    def go(self, to):
        self.migrate_to(to)

    async def reduce(self, value, op=ix.sum):
        return await self.allreduce(value, op)

    async def exchange(self, mine, into):
        c = self.channel(self.array[1 - self.index], 1, 1)
        sent = c.send(mine)
        got = await c.recv(into)
        await sent
        return got

    async def resize_while_it_receives(self):
        c = self.channel(self.array[1 - self.index], 2, 2)
        into = bytearray(8)
        waits = c.recv(into)
        with pytest.raises(BufferError):
            into.extend(b"more")
        await ix.gather(waits, c.send(bytes(8)))
        into.extend(b"more")
        return len(into)


class Two(Exception):
    def __init__(self, a, b):
        super().__init__(f"two: {a} {b}")  # pickled by this alone, and not made again
        self.both = a, b


class Holding(Exception):
    pass


class Unreadable:
    def __reduce__(self):
        return _cannot, ()


def _cannot():
    raise RuntimeError("cannot be made here")


def test_what_cannot_be_pickled_is_said_and_nothing_waits_for_it():
    @job("--imbrex-ranks=2")
    async def main(rt):
        a = rt.create_array(Thing, 2)
        for send in (lambda: a[1].send.take(lambda: 0), lambda: a.broadcast.take(lambda: 0)):
            with pytest.raises((ix.UsageError, AttributeError), match="pickle"):
                send()
        with pytest.raises(ix.UsageError, match="has to be pickled"):
            await a[1].call.take(lambda: 0)
        with pytest.raises(ix.UsageError, match="has to be pickled"):
            await a[1].call.give_a_lambda()
        with pytest.raises(RuntimeError, match="cannot be made here"):
            await a[1].call.give_what_cannot_be_read()
        await rt.quiescence()


def test_a_contribution_that_cannot_be_pickled_is_in_the_report(tmp_path):
    code, said = run_alone(tmp_path, """
        class Thing(ix.Chare):
            async def reduce(self): return await self.allreduce(1, lambda x, y: x)

        async def main(rt):
            a = rt.create_array(Thing, 2)
            await ix.gather(*(a[i].call.reduce() for i in range(2)))
        """, words=["--imbrex-ranks=2"])
    assert code == 70
    assert "has to be pickled" in said and "1 contribution of 2" in said


def test_a_chare_that_cannot_be_pickled_is_named(tmp_path):
    code, said = run_alone(tmp_path, """
        class Locked(ix.Chare):
            def go(self):
                import threading
                self.lock = threading.Lock()
                self.migrate_to(1 - self.pe)

        async def main(rt):
            await rt.create_array(Locked, 2)[0].call.go()
            await rt.quiescence()
        """, words=["--imbrex-ranks=2"])
    assert code == 70
    assert "Locked" in said and "cannot pickle" in said and "lock" in said


@pytest.mark.parametrize("words", [[], ["--imbrex-ranks=2"]])
def test_texts_of_exceptions_come_whole(words):
    @job(*words)
    async def main(rt):
        a = rt.create_array(Thing, 2)
        with pytest.raises(ValueError, match="cannot read m.*sh.dat"):
            await a[1].call.fail_with_odd_text()
        with pytest.raises((StopIteration, RuntimeError)):
            await a[1].call.stop()


def test_exceptions_that_cannot_be_made_again_are_what_they_are_in_the_process():
    @job("--imbrex-pes=2")
    async def main(rt):
        a = rt.create_array(Thing, 2)
        with pytest.raises(Two) as thrown:
            await a[1].call.fail_with_two()
        assert thrown.value.both == (1, 2) and "Thing.fail_with_two" in str(thrown.value.__cause__)
        with pytest.raises(Holding):
            await a[1].call.fail_with_what_cannot_be_pickled()


def test_exceptions_that_cannot_be_made_again_are_texts_elsewhere():
    @job("--imbrex-ranks=2")
    async def main(rt):
        a = rt.create_array(Thing, 2)
        with pytest.raises(ix.RemoteError, match="two: 1 2"):
            await a[1].call.fail_with_two()
        with pytest.raises(ix.RemoteError, match="kept"):
            await a[1].call.fail_with_what_cannot_be_pickled()


def test_what_cannot_be_pickled_is_thrown_where_it_is_sent_though_the_element_is_moving():
    @job("--imbrex-ranks=2")
    async def main(rt):
        a = rt.create_array(Thing, 2)
        await a[0].call.take(1)
        a[0].send.go(1)
        with pytest.raises(ix.UsageError, match="has to be pickled"):
            await a[0].call.take(lambda: 0)


def test_what_cannot_follow_a_moving_element_names_whom_it_is_for(tmp_path):
    code, said = run_alone(tmp_path, """
        class Thing(ix.Chare):
            def take(self, value): pass
            def go(self, to): self.migrate_to(to)

        async def main(rt):
            a = rt.create_array(Thing, 2)
            await a[0].call.take(1)
            a[0].send.go(1)
            a[0].send.take(lambda: 0)
        """, words=["--imbrex-ranks=2"])
    assert code == 70
    assert "a message for Thing.take of element (0)" in said and "has to be pickled" in said


def test_an_attribute_that_a_proxy_does_not_have_is_a_method_perhaps():
    @job()
    async def main(rt):
        a = rt.create_array(Thing, 2)
        with pytest.raises(AttributeError, match=r"proxy.broadcast.take\(...\), or of one element"):
            a.take(1)
        with pytest.raises(AttributeError, match=r"proxy.send.take\(...\)"):
            a[0].take(1)
        assert not hasattr(a, "_repr_html_")
        with pytest.raises(ix.UsageError, match="has no method 'tak': did you mean 'take'"):
            await a[0].call.tak(1)


def test_ports_are_whole_numbers():
    @job()
    async def main(rt):
        a = rt.create_array(Thing, 2)
        for wrong in (2**40, 1.5, "x"):
            with pytest.raises(ix.UsageError, match="a channel's port"):
                await a[0].call.meet(wrong)
        with pytest.raises(ix.UsageError, match="there is no PE 7"):
            await a[0].call.go(7)
        with pytest.raises(ix.UsageError, match="a PE is a whole number, not 1.0"):
            await a[0].call.go(1.0)


def test_a_launcher_that_is_not_there_is_named():
    with pytest.raises(ix.UsageError, match="no program nolauncher"):
        ix.run("jacobi3d", launcher="nolauncher -n 2")


def test_the_version_is_known():
    assert ix.__version__.count(".") == 2


def test_proxies_and_the_runtime_of_a_job_that_has_ended_say_so():
    kept = {}

    @job()
    async def first(rt):
        kept["rt"], kept["a"], kept["c"] = rt, rt.create_array(Thing, 2), rt.create(Thing)
        kept["s"] = kept["a"].section([0])

    @job()
    async def second(rt):
        rt.create_array(Thing, 2)
        for use in (lambda: kept["a"][0], lambda: kept["c"].send.take(1), lambda: kept["s"].broadcast.take(1), lambda: kept["rt"].num_pes,
                    lambda: kept["rt"].create(Thing), lambda: kept["a"].reduction()):
            with pytest.raises(ix.UsageError, match="belongs to a job that has ended"):
                use()


def test_proxies_are_values():
    @job("--imbrex-ranks=2")
    async def main(rt):
        a, b = rt.create_array(Thing, (2, 2)), rt.create_array(Thing, 4)
        assert a[0, 1] == a[0, 1] and a[0, 1] != a[1, 0] and a[0, 1] != b[1] and len({a[0, 1], a[0, 1], a, a}) == 2
        assert "(0, 1)" in repr(a[0, 1])
        with pytest.raises(TypeError, match="array.broadcast"):
            list(b)
        for wrong in (-1, (0, 1), "x", 1.5):
            with pytest.raises(ix.UsageError):
                b[wrong]


def test_numbers_of_numpy_are_numbers():
    @job()
    async def main(rt):
        a = rt.create_array(Thing, np.int64(3))
        assert rt.create_array(Thing, [2, np.int32(2)])[np.int8(1), 1].index == (1, 1)
        assert a[np.int64(2)] == a[2]
        a.section(np.arange(2)).broadcast.take(1)
        assert ix.Object(np.int64(3)).shape == (3,)


@pytest.mark.parametrize(("use", "word"), [
    (lambda rt: rt.create_array(Thing, 2.5), "whole number, not 2.5"),
    (lambda rt: rt.create_array(Thing, 10**12), "below 2^31"),
    (lambda rt: rt.create_array(Thing, 3).section([0, "x"]), "not 'x'"),
    (lambda rt: ix.submit(print, name=3), "name=3"),
    (lambda rt: ix.submit(print, priority="x"), "priority='x'"),
    (lambda rt: ix.submit(print, after=[3]), r"after=\[3\]"),
    (lambda rt: ix.Object(3, domain=3), "process_domain"),
    (lambda rt: ix.Object(3.5), "3.5"),
    (lambda rt: ix.Object(2**62), "more than any memory"),
    (lambda rt: rt.resize("x"), "a number of PEs is a whole number, not 'x'"),
    (lambda rt: rt.exit("x"), "an exit code is a whole number, not 'x'"),
    (lambda rt: ix.reduce(ix.Object(3), ix.sum, "x"), "'x'"),
])
def test_wrong_arguments_are_named(use, word):
    @job()
    async def main(rt):
        with pytest.raises(ix.UsageError, match=word.replace("^", r"\^")):
            use(rt)


def test_classes_that_others_cannot_find_are_said():
    class Local(ix.Chare):
        pass

    @job()
    async def main(rt):
        with pytest.raises(ix.UsageError, match="Local.*define it in a module"):
            rt.create_array(Local, 2)


def test_an_async_constructor_is_refused(tmp_path):
    code, said = run_alone(tmp_path, """
        class Half(ix.Chare):
            async def __init__(self): pass

        async def main(rt):
            rt.create(Half)
        """)
    assert code == 70
    assert "Half.__init__" in said and "cannot be async" in said


@pytest.mark.parametrize("words", [[], ["--imbrex-ranks=2"]])
@pytest.mark.parametrize("dtype", ["datetime64[s]", ">f4", "S4", "U3", "longdouble", "complex64", "bool", [("x", "i4"), ("y", "f8")]])
def test_channels_take_elements_of_any_type(words, dtype):
    @job(*words)
    async def main(rt):
        a = rt.create_array(Thing, 2)
        array = np.arange(10).astype("i4").astype(dtype) if not isinstance(dtype, list) else np.zeros(10, dtype)
        got = await ix.gather(*(a[i].call.exchange(array, np.empty_like(array)) for i in range(2)))
        assert (got[0] == array).all() and (got[1] == array).all()


def test_memory_that_a_channel_receives_into_stays_where_it_is():
    @job()
    async def main(rt):
        a = rt.create_array(Thing, 2)
        assert await ix.gather(*(a[i].call.resize_while_it_receives() for i in range(2))) == [12, 12]


def test_a_checkpoint_of_a_program_that_cannot_be_restarted_is_refused(tmp_path):
    code, said = run_alone(tmp_path, "async def main(rt): pass", words=[f"--imbrex-checkpoint={tmp_path}"])
    assert code == 2
    assert "cannot be restarted" in said


def test_max_of_what_is_no_number_does_not_depend_on_who_has_it():
    @job()
    async def main(rt):
        for at in range(3):
            a = rt.create_array(Thing, 3)
            found = await ix.gather(*(a[i].call.reduce(float("nan") if i == at else float(i), ix.max) for i in range(3)))
            assert all(f != f for f in found)

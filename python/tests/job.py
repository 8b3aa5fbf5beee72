"""A coroutine as a job, for tests."""

import imbrex as ix


def job(*words, pes=1):
    """Runs a coroutine as the main chare, and passes on what it throws."""

    def run(main):
        thrown = []

        async def begin(rt):
            try:
                await main(rt)
            except BaseException as e:  # noqa: BLE001
                thrown.append(e)

        code = ix.run(begin, list(words), pes=pes)
        if thrown:
            raise thrown[0]
        assert code == 0

    return run

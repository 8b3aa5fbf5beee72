"""Applications by `imbrex.run`, and what they report."""

import os
import shutil
import subprocess

import imbrex as ix
import imbrex._imbrex
import pytest

there = shutil.which("jacobi3d", path=os.environ.get("PYTHON_IMBREX_BIN"))
needs_jacobi3d = pytest.mark.skipif(there is None, reason="jacobi3d is not in PYTHON_IMBREX_BIN")


@needs_jacobi3d
def test_gives_the_report_and_the_trace():
    report = ix.run("jacobi3d", x=32, i=4, device="host", imbrex_pes=2, repeats=1, quiet=True, trace=True)
    assert report["time_per_iteration_us"]["median"] > 0
    assert any(e.get("ph") == "X" for e in report["trace"]["traceEvents"])


@needs_jacobi3d
def test_in_virtual_time():
    report = ix.run("jacobi3d", x=64, i=4, repeats=1, quiet=True, imbrex_machine="h200-x4", imbrex_ranks=1,
                        imbrex_gpus=4, imbrex_pes=4)
    assert report["time_per_iteration_us"]["median"] > 0


@needs_jacobi3d
def test_says_why_it_failed():
    with pytest.raises(ix.Error, match="exit code 2"):
        ix.run("jacobi3d", x=-1)


def test_options_that_make_no_sense_are_said():
    with pytest.raises(ix.UsageError, match="options by name"):
        ix.run("jacobi3d", ["-x", "32"])

    async def main(rt):
        pass

    with pytest.raises(ix.UsageError, match="has no x"):
        ix.run(main, x=32)


def test_a_program_that_is_not_there(monkeypatch):
    monkeypatch.setenv("PYTHON_IMBREX_BIN", "/nowhere")
    with pytest.raises(ix.UsageError, match="PYTHON_IMBREX_BIN=/nowhere"):
        ix.run("jacobi3d")


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm (binutils) is not here")
def test_the_module_shows_no_library_of_its_own():
    """Templates and a C++ library of ours would be taken by what is loaded later, such as a driver of OpenCL, which then called half of each."""
    shown = subprocess.run(["nm", "-D", "--defined-only", imbrex._imbrex.__file__], capture_output=True, text=True, check=True)
    assert [line.split()[2] for line in shown.stdout.splitlines()] == ["PyInit__imbrex"]

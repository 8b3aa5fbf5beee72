"""The programs of docs/python.md, as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import imbrex
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def run_program(number, folder, words):
    """The program of docs/python.md with that number."""
    text = (ROOT / "docs" / "python.md").read_text()
    program = folder / "program.py"
    program.write_text(re.findall(r"```python\n(.*?)```", text, re.S)[number])
    done = subprocess.run(
        [sys.executable, str(program), *words], capture_output=True, text=True, timeout=100, check=False,
        env=dict(os.environ, PYTHONPATH=str(Path(imbrex.__file__).parent.parent)))
    for missing in ("toml++", "OpenCL"):
        if done.returncode != 0 and missing in done.stderr:
            pytest.skip(f"this build has no {missing}")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("words", [["--imbrex-pes=1"], ["--imbrex-pes=2"], ["--imbrex-ranks=2", "--imbrex-pes=1"],
                                   ["--imbrex-pes=2", "--imbrex-schedule-seed=3"]])
def test_the_first_program(tmp_path, words):
    said = run_program(0, tmp_path, words)
    # Each block has its index 1000 times, and ten times its left neighbour's in the first.
    assert f"sum {float(120 * 1000 + 120 * 10)}" in said
    assert "first of 3 23.0" in said


@pytest.mark.parametrize("words", [["--imbrex-pes=1"], ["--imbrex-pes=3"], ["--imbrex-device=opencl"],
                                   ["--imbrex-machine=h200-x4", "--imbrex-device=cuda"]])
def test_the_program_of_tasks(tmp_path, words):
    said = run_program(2, tmp_path, words)
    # Of 1 + 2 i, scaled to ten at most.
    assert float(said.split("\n")[0]) == pytest.approx(10 * 1000 * 1000 / 1999, rel=1e-5)
    assert said.split("\n")[1].startswith("[0.005")


def test_the_program_that_can_be_restarted(tmp_path):
    kept = tmp_path / "kept"
    assert run_program(1, tmp_path, [f"--imbrex-checkpoint={kept}", "--imbrex-checkpoint-every=40"]) == "0.0\n"
    assert run_program(1, tmp_path, [f"--imbrex-restart={kept}", "--imbrex-ranks=2"]) == "0.0\n"

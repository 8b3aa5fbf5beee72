"""The program of docs/python.md, as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import imbrex
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("words", [["--imbrex-pes=1"], ["--imbrex-pes=2"], ["--imbrex-ranks=2", "--imbrex-pes=1"],
                                   ["--imbrex-pes=2", "--imbrex-schedule-seed=3"]])
def test_the_first_program(tmp_path, words):
    text = (ROOT / "docs" / "python.md").read_text()
    program = tmp_path / "ring.py"
    program.write_text(re.search(r"```python\n(.*?)```", text, re.S).group(1))
    done = subprocess.run(
        [sys.executable, str(program), *words], capture_output=True, text=True, timeout=100, check=False,
        env=dict(os.environ, PYTHONPATH=str(Path(imbrex.__file__).parent.parent)))
    assert done.returncode == 0, done.stdout + done.stderr
    # Each block has its index 1000 times, and ten times its left neighbour's in the first.
    assert f"sum {float(120 * 1000 + 120 * 10)}" in done.stdout
    assert "first of 3 23.0" in done.stdout

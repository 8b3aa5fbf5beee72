"""The notebooks of python/notebooks, each run from its beginning to its end."""

import json
import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not here (apt install python3-nbclient python3-ipykernel)")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not here (apt install python3-nbclient python3-ipykernel)")
pytest.importorskip("ipykernel", reason="ipykernel is not here (apt install python3-ipykernel)")
pytest.importorskip("matplotlib", reason="matplotlib is not here (apt install python3-matplotlib)")

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))


def test_there_are_four():
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.stem)
def test_runs(notebook, tmp_path, monkeypatch):
    kernel = tmp_path / "kernels" / "this-python"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(json.dumps({
        "argv": [sys.executable, "-B", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "this Python", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    read = nbformat.read(notebook, as_version=4)
    assert not any(c.get("outputs") for c in read.cells), "commit it without outputs"
    nbclient.NotebookClient(read, timeout=60, kernel_name="this-python", resources={"metadata": {"path": str(tmp_path)}}).execute()

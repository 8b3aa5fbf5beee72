"""The machine that figures are measured on, and what they are measured with."""

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess


class FiguresError(Exception):
    """Something of the user's that cannot be; the text says what to do."""


@dataclasses.dataclass
class Setting:
    bin: pathlib.Path
    gpus: int  # to be used; 0: the host's cores take their place
    cores: int
    quick: bool
    mpirun: tuple[str, ...]  # in front of the number of ranks; empty: there is none
    gpu_bytes: int = 0
    facts: dict = dataclasses.field(default_factory=dict)
    machine: str = ""  # that is simulated, by name or file; empty: this one
    gpus_per_node: int = 0  # of that
    beside: str = ""  # a machine of which the same runs are drawn beside those of this one
    one_process: bool = False  # a run in virtual time is of one rank, as one here is

    @property
    def on_gpus(self):
        return self.gpus > 0

    @property
    def units(self):
        """GPUs, or cores: what a problem is spread over."""
        return self.gpus or self.cores

    @property
    def unit_name(self):
        return "GPUs" if self.on_gpus else "cores"

    def counts(self):
        """1, 2, 4, ... and all."""
        some = [1]
        while some[-1] * 2 <= self.units:
            some.append(some[-1] * 2)
        return some if some[-1] == self.units or self.on_gpus else [*some, self.units]

    def program(self, name):
        return str(self.bin / name)

    def spread(self, n):
        """Options of one process that uses `n` of the units; of a job in virtual time, with a rank for each."""
        if self.machine and self.one_process:
            here = dataclasses.replace(self, machine="").spread(n)
            return (*here, f"--imbrex-machine={self.machine}", "--imbrex-ranks=1", "--imbrex-machine-data=off")
        if self.machine:
            return ("--device", "cuda", f"--imbrex-machine={self.machine}", f"--imbrex-nodes={-(-n // self.gpus_per_node)}",
                    f"--imbrex-ranks={n}", "--imbrex-machine-data=off")
        return ("--device", "cuda", "--gpus", str(n), "--pes", str(n)) if self.on_gpus else ("--device", "host", "--pes", str(n))

    def ranks(self, n):
        """The command that starts `n` ranks, or nothing where none can be started."""
        return (*self.mpirun, str(n)) if self.mpirun else ()


    def to_json(self):
        return {"gpus": self.gpus, "cores": self.cores, "quick": self.quick, "mpirun": self.mpirun, "gpu_bytes": self.gpu_bytes,
                "machine": self.machine, "gpus_per_node": self.gpus_per_node, "beside": self.beside}


def kept_setting(bin_folder, kept):
    """That with which something was measured, here or elsewhere."""
    s = kept["setting"]
    return Setting(bin_folder.resolve(), s["gpus"], s["cores"], s["quick"], tuple(s["mpirun"]), s["gpu_bytes"], kept["facts"],
                   s.get("machine", ""), s.get("gpus_per_node", 0), s.get("beside", ""))


def commit_of(folder):
    done = subprocess.run(["git", "-C", str(folder), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def facts_of_machine(s, machine):
    """What `imbrex machines` says of one."""
    done = subprocess.run([s.program("imbrex"), "machines", machine, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise FiguresError(done.stderr.strip().removeprefix("imbrex: "))
    return json.loads(done.stdout)


def beside(s, machine):
    """The same runs in virtual time on `machine`, of which one node is enough."""
    facts = facts_of_machine(s, machine)
    if s.gpus > facts["gpus"]:
        raise FiguresError(f"--beside {machine}: a node of it has {facts['gpus']} GPUs, and {s.gpus} are used here: --gpus {facts['gpus']}")
    return dataclasses.replace(s, mpirun=(), gpu_bytes=0, machine=machine, gpus_per_node=facts["gpus"], one_process=True)


def simulated(s, machine, gpus):
    """The same programs on a machine that is simulated: `gpus` of it, or as many as the papers had nodes of Summit."""
    facts = facts_of_machine(s, machine)
    if facts["gpus"] == 0:
        raise FiguresError(f"--machine {machine}: it has no GPUs")
    if gpus is None:
        gpus = facts["gpus"] * (16 if s.quick else 512)
    if gpus < facts["gpus"]:
        raise FiguresError(f"--gpus {gpus}: a node of {facts['name']} has {facts['gpus']}")
    about = s.facts | {"host": f"{facts['name']} in virtual time", "gpus": [facts["gpu"]] * gpus, "cores": facts["cores"]}
    return dataclasses.replace(s, gpus=gpus, mpirun=(), gpu_bytes=0, machine=machine, gpus_per_node=facts["gpus"], facts=about)


def find_setting(bin_folder, gpus, cores, quick, mpirun):
    """Asks `imbrex info`. Throws FiguresError where that or what was asked for is not there."""
    bin_folder = bin_folder.resolve()
    tool = bin_folder / "imbrex"
    if not tool.exists():
        raise FiguresError(f"there is no {tool}: give the folder of the programs by --bin")
    done = subprocess.run([str(tool), "info", "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise FiguresError(f"{tool} info fails: {done.stderr.strip()}")
    info = json.loads(done.stdout)
    found = [d for d in info["devices"] if d["kind"] == "cuda"]
    if gpus is None:
        gpus = len(found)
    if gpus > len(found):
        raise FiguresError(f"--gpus {gpus}: this machine has {len(found)}")
    here = len(os.sched_getaffinity(0))
    if cores is None:
        cores = here
    if cores < 1:
        raise FiguresError(f"--cores {cores} is too small: use at least 1")
    if cores > here:
        raise FiguresError(f"--cores {cores}: this process has {here}")
    words = tuple(mpirun.split()) if mpirun else ()
    if mpirun is None and shutil.which("mpirun"):
        words = ("mpirun", "--bind-to", "core", "-n") if gpus == 0 else ("mpirun", "-n")
    facts = {
        "host": os.uname().nodename,
        "cores": here,
        "gpus": [d["name"] for d in found],
        "compiler": info["build"]["compiler"],
        "version": info["version"],
        "commit": commit_of(pathlib.Path(__file__).resolve().parent),
        "features": {name: f["note"] for name, f in info["features"].items() if f["present"]},
    }
    memory = min((d.get("memory_bytes", 0) for d in found), default=0)
    return Setting(bin_folder, gpus, cores, quick, words, memory, facts)

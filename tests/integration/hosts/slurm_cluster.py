"""A cluster of Slurm on one machine: its controller and a node's daemon on each host of a network of namespaces.

  with network(2) as n, slurm_cluster(n, folder) as c:
      c.run("srun", "-N", "2", "./program")

Each node has two cores and a /dev/shm of its own; everything else is shared, as over a shared file system. Needs root, and
what `refusal` names.
"""
import os
import shutil
import subprocess
import time

PROGRAMS = {"munged": "munge", "mungekey": "munge", "slurmctld": "slurm-wlm", "slurmd": "slurm-wlm", "srun": "slurm-wlm"}
CORES_PER_NODE = 2
START_LIMIT_S = 30
PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))

# Nothing that needs control groups or an account manager. Ranks are bound to the cores that Slurm gives them: the nodes
# are one machine, so those of one node are those of the other.
CONFIGURATION = """
ClusterName=tiles
SlurmctldHost={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=pmix
ProctrackType=proctrack/pgid
TaskPlugin=task/affinity
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=5
SlurmctldPidFile={folder}/controller.pid
SlurmctldLogFile={folder}/controller.log
StateSaveLocation={folder}/state
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/spool-%n
SlurmdParameters=config_overrides
"""


class not_started(Exception):
    """The cluster does not come up; the text has its logs."""


def refusal():
    """Why there can be no cluster of Slurm here; None where there can."""
    for program, package in PROGRAMS.items():
        if not shutil.which(program, path=PATH):
            return f"slurm: there is no '{program}' (packages slurm-wlm, munge): {package} is missing"
    return None


def control_groups():
    """Shows slurmd again what `ip netns exec` has hidden, and it looks at if only to tell the version."""
    place = "/sys/fs/cgroup"
    if os.path.exists(f"{place}/cgroup.controllers"):
        return f"mount -t cgroup2 none {place}"
    return (f"mount -t tmpfs none {place} && mkdir {place}/systemd && "
            f"mount -t cgroup -o none,name=systemd none {place}/systemd")


class slurm_cluster:
    """A node n1, n2, ... on each host of `network`, their files in `folder`, which all of them see."""

    def __init__(self, network, folder):
        self.network, self.folder = network, folder
        self.environment = {**os.environ, "PATH": PATH, "SLURM_CONF": os.path.join(folder, "slurm.conf")}

    def __enter__(self):
        self.configure()
        self.start_munge()
        self.start(0, "slurmctld", "-D")
        for k in range(len(self.network.hosts)):
            os.mkdir(os.path.join(self.folder, f"spool-n{k + 1}"))
            own = self.own_configuration(k)
            self.start(k, "sh", "-c", f"{control_groups()} && SLURM_CONF='{own}' exec slurmd -D -N n{k + 1}")
        self.await_nodes()
        return self

    def __exit__(self, *_):
        self.munge.terminate()
        self.munge.wait()

    def configure(self):
        os.mkdir(os.path.join(self.folder, "state"))
        lines = [CONFIGURATION.format(controller=f"{self.network.hosts[0]}({self.network.addresses[0]})", folder=self.folder)]
        lines += [f"NodeName=n{k + 1} NodeHostname=n{k + 1} NodeAddr={address} CPUs={CORES_PER_NODE} RealMemory=1000"
                  for k, address in enumerate(self.network.addresses)]
        lines.append(f"PartitionName=all Nodes=n[1-{len(self.network.hosts)}] Default=YES State=UP")
        with open(self.environment["SLURM_CONF"], "w") as f:
            f.write("\n".join(lines) + "\n")

    def own_configuration(self, k):
        """Of a node: the same, and where PMIx's files go, which nodes would make in one place under one name."""
        folder = os.path.join(self.folder, f"n{k + 1}")
        os.mkdir(folder)
        with open(os.path.join(folder, "mpi.conf"), "w") as f:
            f.write(f"PMIxCliTmpDirBase={folder}\n")
        return shutil.copy(self.environment["SLURM_CONF"], folder)

    def start_munge(self):
        key, socket = (os.path.join(self.folder, name) for name in ("munge.key", "munge.socket"))
        subprocess.run(["mungekey", "--create", "--keyfile", key], check=True, env=self.environment)
        self.munge = subprocess.Popen(
            ["munged", "--foreground", "--force", "--key-file", key, "--socket", socket, "--pid-file", f"{socket}.pid",
             "--seed-file", f"{key}.seed", "--log-file", f"{socket}.log"],
            env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + START_LIMIT_S
        while not os.path.exists(socket) and time.monotonic() < deadline:
            time.sleep(0.05)

    def start(self, k, *words):
        log = open(os.path.join(self.folder, f"{words[0]}-{k + 1}.output"), "w")
        self.network.popen(k, words, env=self.environment, stdout=log, stderr=subprocess.STDOUT)

    def await_nodes(self):
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            shown = self.run("sinfo", "--noheader", "--Node", "--format=%T")
            if shown.returncode == 0 and shown.stdout.split() == ["idle"] * len(self.network.hosts):
                return
            time.sleep(0.3)
        raise not_started(f"{shown.stdout}{shown.stderr}\n{self.logs()}")

    def logs(self):
        texts = []
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".log", ".output")):
                with open(os.path.join(self.folder, name), errors="replace") as f:
                    texts.append(f"== {name}\n" + "".join(f.readlines()[-12:]))
        return "\n".join(texts)

    def popen(self, *words, **more):
        """Starts a command on the first host."""
        return self.network.popen(0, words, env=self.environment, text=True, **more)

    def run(self, *words, limit_s=120):
        """The ended command, with what it printed; TimeoutExpired when it takes longer."""
        started = self.popen(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = started.communicate(timeout=limit_s)
        return subprocess.CompletedProcess(words, started.returncode, out, err)

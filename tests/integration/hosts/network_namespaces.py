"""Several hosts on one machine: network namespaces that see each other over one network, and what befalls networks.

  with network(2) as n:
      n.slow(delay_ms=2, loss_percent=0)
      n.popen(0, ["some", "command"])

Host k has the address n.addresses[k], one device eth0, a host name and a /dev/shm of its own. All traffic stays between
the namespaces. Leaving the `with` ends every process in them and removes them, and so does making the next network for
those that a killed process left behind. Needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN): ask `refusal` first.
"""
import contextlib
import ctypes
import fcntl
import heapq
import itertools
import os
import random
import re
import select
import shlex
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import tempfile
import threading
import time

NETWORK = "10.213.0."  # nobody outside the namespaces sees it
DEVICE = "eth0"
NUMBERS = itertools.count(1)
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TAP_NO_PI = 0x400454CA, 0x1002


class not_permitted(Exception):
    """This machine does not let us do it; the text says what and why."""


def command(words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise not_permitted(f"{os.path.basename(words[0])}: {' '.join((done.stderr or done.stdout).split())}")
    return done.stdout


def ip(*words):
    return command(["ip", *words])


def refusal():
    """Why there can be no network here; None where it can."""
    for program in ("ip", "unshare"):
        if not shutil.which(program):
            return f"several hosts: there is no '{program}' (packages iproute2, util-linux)"
    try:
        with network(2) as n:
            command([n.remote_shell, n.addresses[1], "true"])
    except (not_permitted, OSError) as e:
        return f"several hosts: network namespaces are not permitted here: {e}"
    return None


def netem_refusal():
    """Why `tc netem` cannot delay here; None where it can."""
    if not shutil.which("tc"):
        return "there is no 'tc' (package iproute2)"
    try:
        with network(1) as n:
            n.slow(1, 0)
    except not_permitted as e:
        return f"'tc netem' does not work here ({e})"
    return None


@contextlib.contextmanager
def thread_inside(namespace):
    """This thread makes its sockets and devices in `namespace`."""
    libc = ctypes.CDLL(None, use_errno=True)
    own = f"/proc/self/task/{threading.get_native_id()}/ns/net"
    with open(own) as before, open(f"/run/netns/{namespace}") as there:
        if libc.setns(there.fileno(), CLONE_NEWNET) != 0:
            raise not_permitted(f"setns to {namespace}: {os.strerror(ctypes.get_errno())}")
        try:
            yield
        finally:
            if libc.setns(before.fileno(), CLONE_NEWNET) != 0:
                os.abort()  # whatever came next would happen in the wrong namespace


@contextlib.contextmanager
def signals_wait():
    """What is done here is done to its end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_all_in(namespace):
    deadline = time.monotonic() + 10
    while (pids := ip("netns", "pids", namespace).split()) and time.monotonic() < deadline:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.02)


def remove(namespace):
    with contextlib.suppress(not_permitted):
        end_all_in(namespace)
    with contextlib.suppress(not_permitted):
        ip("netns", "delete", namespace)


def remove_left_behind():
    for line in ip("netns", "list").splitlines():
        name = re.match(r"imbrex-(\d+)-", line)
        if name and not os.path.exists(f"/proc/{name.group(1)}"):
            remove(line.split()[0])


class user_space_wire(threading.Thread):
    """Carries every frame of one TAP device to all others, late and with loss: for kernels without netem."""

    def __init__(self):
        super().__init__(daemon=True)
        self.ports, self.delay_s, self.loss, self.closed = [], 0.0, 0.0, False
        self.random, self.numbers, self.under_way, self.num_lost = random.Random(1), itertools.count(), [], 0

    def plug_in(self, namespace):
        try:
            with thread_inside(namespace):
                port = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
                self.ports.append(port)
                fcntl.ioctl(port, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TAP_NO_PI))
        except OSError as e:
            raise not_permitted(f"TAP devices: {e}") from e

    def run(self):
        while not self.closed:
            wait = max(0.0, self.under_way[0][0] - time.monotonic()) if self.under_way else 0.1
            for port in select.select(self.ports, [], [], min(wait, 0.1))[0]:
                self.take(port)
            while self.under_way and self.under_way[0][0] <= time.monotonic():
                _, _, port, frame = heapq.heappop(self.under_way)
                self.deliver(port, frame)

    def take(self, port):
        with contextlib.suppress(BlockingIOError):
            while True:
                frame = os.read(port, 65536)
                if self.random.random() < self.loss:
                    self.num_lost += 1
                    continue
                due = time.monotonic() + self.delay_s
                heapq.heappush(self.under_way, (due, next(self.numbers), port, frame))

    def deliver(self, from_port, frame):
        for port in self.ports:
            if port != from_port:
                with contextlib.suppress(OSError):  # a device that is down or full loses frames, as real ones do
                    os.write(port, frame)

    def close(self):
        self.closed = True
        if self.is_alive():
            self.join()
        for port in self.ports:
            os.close(port)


class network:
    """`num_hosts` namespaces at a bridge in another one; with `by_wire` at a user_space_wire."""

    def __init__(self, num_hosts, by_wire=False):
        self.name = f"imbrex-{os.getpid()}-{next(NUMBERS)}"
        self.hosts = [f"{self.name}-{k + 1}" for k in range(num_hosts)]
        self.addresses = [f"{NETWORK}{k + 1}" for k in range(num_hosts)]
        self.switch = f"{self.name}-switch"
        self.wire = user_space_wire() if by_wire else None
        self.folder = tempfile.mkdtemp(prefix="imbrex-")
        self.remote_shell = os.path.join(self.folder, "enter-host")
        self.made, self.children = [], []

    def __enter__(self):
        try:
            remove_left_behind()
            self.make()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def make(self):
        for host in self.hosts:
            self.make_namespace(host)
        if self.wire:
            for host in self.hosts:
                self.wire.plug_in(host)
            self.wire.start()
        else:
            self.make_bridge()
        for host, address in zip(self.hosts, self.addresses):
            ip("-n", host, "address", "add", f"{address}/24", "dev", DEVICE)
            ip("-n", host, "link", "set", DEVICE, "up")
        self.write_remote_shell()

    def make_namespace(self, name):
        self.made.append(name)
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")

    def make_bridge(self):
        self.make_namespace(self.switch)
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.switch, "link", "set", "bridge", "up")
        for k, host in enumerate(self.hosts):
            ip("-n", self.switch, "link", "add", f"port{k}", "type", "veth", "peer", "name", DEVICE, "netns", host)
            ip("-n", self.switch, "link", "set", f"port{k}", "master", "bridge", "up")

    def close(self):
        with signals_wait():
            for name in self.made:
                remove(name)
            for child in self.children:
                child.kill()
                child.wait()
            if self.wire:
                self.wire.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def write_remote_shell(self):
        """Called like ssh, ADDRESS COMMAND..., it enters the host of that address, with its name and shared memory."""
        with open(self.remote_shell, "w") as f:
            f.write("#!/bin/sh\n"
                    f"host={self.name}-${{1##*.}}; shift\n"
                    "exec ip netns exec $host unshare --uts --ipc --mount "
                    'sh -c "hostname $host && mount -t tmpfs tmpfs /dev/shm && $*"\n')
        os.chmod(self.remote_shell, 0o755)

    def popen(self, k, words, **more):
        """Starts a command on host k."""
        started = subprocess.Popen([self.remote_shell, self.addresses[k], shlex.join(words)], **more)
        self.children.append(started)
        return started

    def slow(self, delay_ms, loss_percent):
        """From now on every frame is late by `delay_ms` in each direction, and `loss_percent` of them vanish."""
        if self.wire:
            self.wire.delay_s, self.wire.loss = delay_ms / 1e3, loss_percent / 100
            return
        for host in self.hosts:
            command(["ip", "netns", "exec", host, "tc", "qdisc", "replace", "dev", DEVICE, "root", "netem",
                     "limit", "20000", "delay", f"{delay_ms}ms", "loss", f"{loss_percent}%"])

    def num_lost(self):
        """Frames that were made to vanish so far."""
        if self.wire:
            return self.wire.num_lost
        shown = [ip("netns", "exec", host, "tc", "-s", "qdisc", "show", "dev", DEVICE) for host in self.hosts]
        return sum(int(n) for n in re.findall(r"dropped (\d+)", "".join(shown)))

    def cut(self, k):
        """Pulls the cable of host k out of the bridge: its own device stays as it was."""
        ip("-n", self.switch, "link", "set", f"port{k}", "down")

    def round_trip_ms(self, a, b, count=20):
        """The median time of one byte from host a to host b and back, over TCP."""
        with contextlib.ExitStack() as stack:
            with thread_inside(self.hosts[b]):
                listener = stack.enter_context(socket.create_server((self.addresses[b], 0)))
            with thread_inside(self.hosts[a]):
                near = stack.enter_context(socket.create_connection(listener.getsockname(), timeout=20))
            listener.settimeout(20)
            far = stack.enter_context(listener.accept()[0])
            for end in (near, far):
                end.settimeout(20)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            times = []
            for _ in range(count):
                start = time.perf_counter()
                for out, into in ((near, far), (far, near)):
                    out.sendall(b"x")
                    into.recv(1)
                times.append(1e3 * (time.perf_counter() - start))
        return statistics.median(times)

    def sent_bytes(self, k):
        fields = re.search(rf"{DEVICE}:(.*)", self.kernel_file(k, "dev")).group(1).split()
        return int(fields[8])

    def segments_sent_again(self):
        """TCP segments that the hosts had to send again so far."""
        return sum(self.tcp_counter(k, "RetransSegs") for k in range(len(self.hosts)))

    def tcp_counter(self, k, name):
        names, values = re.findall(r"Tcp: (.*)", self.kernel_file(k, "snmp"))
        return int(values.split()[names.split().index(name)])

    def kernel_file(self, k, name):
        return ip("netns", "exec", self.hosts[k], "cat", f"/proc/net/{name}")

    def pids(self, k, program):
        """The processes on host k that run this file."""
        found = []
        for pid in ip("netns", "pids", self.hosts[k]).split():
            with contextlib.suppress(OSError):
                if os.path.samefile(f"/proc/{pid}/exe", program):
                    found.append(int(pid))
        return found

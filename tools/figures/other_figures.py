"""miniMD: Choi et al. 2020, Figure 7. DGEMM and ping-pong: Thomadakis et al. 2024, Figures 8 to 12."""

from jacobi_figures import C20, T24, Jacobi, powers
from model import Claim, Figure, Panel, Point, best_gain


def step_ms(report):
    return 1e3 * report["seconds"]["total"] / report["problem"]["steps"]


def minimd(s):
    counts = powers(s.counts())
    cells = (40 if s.quick else 80) if s.on_gpus else (12 if s.quick else 24)
    steps = "100" if s.quick else "300"
    no_ranks = Jacobi(s).no_ranks()

    def run(n, nx, ny, nz, *more):
        device = ("--device", "cuda", "--pes", str(n), *(() if "mpi" in more else ("--imbrex-gpus", str(n)))) if s.on_gpus else ("--pes", str(n))
        return (s.program("minimd"), "--nx", str(nx), "--ny", str(ny), "--nz", str(nz), "-n", steps, "--thermo", "0", "-o", "0", *device, *more)

    def grow(n):
        size, at = [cells] * 3, 0
        while n > 1:
            size[at] *= 2
            at, n = (at + 1) % 3, n // 2
        return size

    weak, strong = [], []
    for n in counts:
        for odf in (1, 2, 4):
            weak.append(Point(f"chares, ODF {odf}", n, run(n, *grow(n), "--odf", str(odf)), step_ms))
            strong.append(Point(f"chares, ODF {odf}", n, run(n, cells, cells, cells, "--odf", str(odf)), step_ms))
        one = run(1, *grow(n), "--impl", "mpi")
        weak.append(Point("MPI", n, (*s.ranks(n), *one), step_ms, no_ranks))
        strong.append(Point("MPI", n, (*s.ranks(n), *run(1, cells, cells, cells, "--impl", "mpi")), step_ms, no_ranks))
    atoms = 4 * cells**3
    weak_title = f"weak, {atoms} atoms each"
    return Figure("c20-fig7", "miniMD: weak and strong scaling", f"{C20}, Figure 7",
                  "Lennard-Jones. The paper's MPI versions are by way of the host (HS) and CUDA-aware (CA); ours takes what MPI has.",
                  [Panel(weak_title, s.unit_name, "time per step (ms)", weak),
                   Panel(f"strong, {atoms} atoms", s.unit_name, "time per step (ms)", strong, log_y=True)],
                  [Claim("weak scaling: the best ODF against ODF 1", "+26 to +47 %",
                         best_gain(weak_title, "chares, ODF 1", "chares, ODF 4", counts), "%")])


def dgemm_speedup(size, variant, gpus=1, pes=1):
    def value(report):
        for p in report["points"]:
            if (p["size"], p["variant"], p["gpus"], p["pes"]) == (size, variant, gpus, pes):
                return p["speedup"]
        raise KeyError(f"{variant} at {size}")

    return value


def best_ratio(panel, better, worse, xs):
    """How many percent more the one is than the other, at most."""

    def here(medians):
        ratios = [medians[panel, better, x] / medians[panel, worse, x] for x in xs if (panel, better, x) in medians and (panel, worse, x) in medians]
        return 100 * (max(ratios) - 1) if ratios else None

    return here


def dgemm(s):
    sizes = (64, 128, 256) if s.quick else (64, 128, 256, 512, 768, 1024)
    variants = ("tasks", "pinned", "pool", "transfer", "queues") if s.on_gpus else ("tasks", "pool", "transfer", "queues")
    points = []
    for size in sizes:
        iterations = 100 if s.on_gpus else max(1, min(100, 100 * 128**3 // size**3))
        command = (s.program("dgemm"), "--device", "cuda" if s.on_gpus else "host", "--sizes", str(size), "--iterations", str(iterations),
                   "--repeats", "3")
        points += [Point(v, size, command, dgemm_speedup(size, v)) for v in variants]
    return Figure("t24-fig8", "Matrix products by tasks: each optimisation after the other", f"{T24}, Figure 8",
                  "Speed against the same without tasks (CUDA alone, or malloc and memcpy). The paper: a V100.",
                  [Panel("one device", "n of n x n matrices", "speedup against no tasks", points, less_is_better=False)],
                  [Claim("all optimisations against the first version", "up to +300 %", best_ratio("one device", "queues", "tasks", sizes), "%")])


def dgemm_devices(s):
    counts = powers(s.counts())
    missing = "" if s.on_gpus else "no GPU can be used here"
    points = []
    for n in counts:
        for name, pes in (("one PE for all", 1), ("a PE for each", n)):
            command = (s.program("dgemm"), "--device", "cuda", "--sizes", "64", "--gpus", str(n), "--pes", str(pes), "--variants",
                       "naive,queues", "--repeats", "3")
            points.append(Point(name, n, command, dgemm_speedup(64, "queues", n, pes), missing))
    return Figure("t24-fig9", "Matrix products of 64 x 64 on several GPUs", f"{T24}, Figure 9", "",
                  [Panel("64 x 64", "GPUs", "speedup against CUDA on one", points, less_is_better=False)])


def pingpong_value(mode, size, key):
    def value(report):
        for p in report["points"]:
            if (p["mode"], p["bytes"]) == (mode, size):
                return p[key]["median"] if key == "one_way_us" else p[key]
        raise KeyError(f"{mode} at {size} bytes")

    return value


def pingpong(s):
    sizes = [8 * 8**k for k in range(5 if s.quick else 7)] + ([] if s.quick else [8 << 20])
    modes = ["entry", "channel-host", "put-host", "mpi-host"]
    if s.on_gpus:
        modes += ["channel-device", "message-device", "put-device", "mpi-device", "copy-device"]
    panels = []
    for place, front in (("inside a process", ()), ("between two processes", s.ranks(2))):
        missing = "" if place == "inside a process" or front else Jacobi(s).no_ranks()
        shown = [m for m in modes if not (place == "inside a process" and m.startswith("mpi")) and not (front and m == "copy-device")]
        command = (*front, s.program("pingpong"), "--modes", ",".join(shown), "--sizes", ",".join(map(str, sizes)), "--repeats", "3",
                   "--time-ms", "5", *(("--imbrex-device=cuda",) if s.on_gpus else ()),
                   *(("--imbrex-pes=1",) if front else ("--imbrex-pes=2",)))
        for title, label, key, less in ((f"latency {place}", "one way (us)", "one_way_us", True),
                                        (f"bandwidth {place}", "GB/s", "gb_per_second", False)):
            points = [Point(m, size, command, pingpong_value(m, size, key), missing) for m in shown for size in sizes]
            panels.append(Panel(title, "bytes", label, points, log_y=True, less_is_better=less))
    return Figure("t24-fig10", "Ping-pong: latency and bandwidth by every interface", f"{T24}, Figures 10 to 12",
                  "The paper: two nodes, InfiniBand. Here: one machine; MPI beside it in the same run.", panels)


FIGURES = {"c20-fig7": minimd, "t24-fig8": dgemm, "t24-fig9": dgemm_devices, "t24-fig10": pingpong}

"""Jacobi3D: Choi et al. 2020, Figures 5 and 6; Choi et al. 2022, Figures 6 to 9; Thomadakis et al. 2024, Figures 13 and 15."""

from model import Claim, Figure, NotThat, Panel, Point, best_gain, gain

C20 = "Choi, Richards, Kale 2020"
C22 = "Choi, Richards, Kale 2022"
T24 = "Thomadakis, Chrisochoides 2024"
TIME = "time per iteration (us)"


def iteration_us(report):
    return report["time_per_iteration_us"]["median"]


def direct_us(report):
    """Of halos that go from GPU to GPU."""
    if "comm device" not in report["gpu_strategy"]:
        raise NotThat(f"halos went by way of the host ({report['gpu_strategy']}): this MPI takes no GPU memory")
    return iteration_us(report)


class Jacobi:
    """Commands of Jacobi3D on one setting."""

    def __init__(self, s):
        self.s = s
        # As large as the papers' where a GPU has room for it (two fields), else what a core does in a moment.
        self.large = (768 if s.quick else 1536) if s.on_gpus else (64 if s.quick else 192)
        self.small = 192 if s.on_gpus else (32 if s.quick else 64)
        self.middle = 768 if s.on_gpus else (64 if s.quick else 128)
        if s.gpu_bytes and 2 * 8 * self.large**3 > 0.9 * s.gpu_bytes * s.units:
            self.large = 768

    def run(self, n, x, *more, y=None, z=None, iterations=None):
        cells = x * (y or x) * (z or x)
        per_unit = cells / n
        rate = 2.0e11 if self.s.on_gpus else 1.5e9  # cells a second, about
        seconds = 0.3 if self.s.quick else 1.0
        some = max(10, min(20000, int(seconds * rate / per_unit)))
        count = iterations or (some if not self.s.on_gpus else min(some, 4000))
        return (self.s.program("jacobi3d"), "-x", str(x), "-y", str(y or x), "-z", str(z or x), "-w", "5", "-i", str(count),
                "--repeats", "1", *self.s.spread(n), *more)

    def mpi(self, n, x, *more, y=None, z=None):
        """One rank for each unit."""
        one = self.run(1, x, "--impl", "mpi", *more, y=y, z=z)
        return (*self.s.ranks(n), *one)

    def weak(self, base, n):
        """The grid whose extents grow twofold in x, y, z in turns as the units double (C20, V-A2)."""
        x = [base, base, base]
        k, at = n, 0
        while k > 1:
            x[at] *= 2
            at = (at + 1) % 3
            k //= 2
        return x

    def no_ranks(self):
        return "" if self.s.mpirun else "no mpirun is here: give one by --mpirun"


def powers(counts):
    return [n for n in counts if n & (n - 1) == 0]


def completion(s):
    j = Jacobi(s)
    factors = [1, 2, 4, 8] if s.quick else [1, 2, 4, 8, 16]
    ways = {"polling (a number)": "flag", "polling (events)": "event", "callback": "callback", "synchronise": "sync"}
    points = []
    if s.on_gpus:
        for name, way in ways.items():
            for odf in factors:
                points.append(Point(name, odf, j.run(s.gpus, j.large, "--odf", str(odf), "--completion", way, "--comm", "host",
                                                     "--fusion", "none", "--no-graph"), iteration_us))
    else:
        points = [Point("chares", odf, j.run(s.cores, j.large, "--odf", str(odf)), iteration_us) for odf in factors]
    title = f"{j.large}^3 on {s.units} {s.unit_name}"
    claims = []
    if s.on_gpus:
        claims = [
            Claim("asynchronous completion against cudaStreamSynchronize, best ODF", "up to +83 %",
                  best_gain(title, "synchronise", "polling (events)", factors), "%"),
            Claim("ODF 4 against ODF 1, polling", "+43 %",
                  gain((title, "polling (events)", 1), (title, "polling (events)", 4)), "%")]
    return Figure("c20-fig5", "Jacobi3D with varying overdecomposition factors", f"{C20}, Figure 5",
                  "The paper: six V100 of a node, halos by way of the host." + ("" if s.on_gpus else
                  " Here: cores, which wait for no device, so the factor alone."),
                  [Panel(title, "overdecomposition factor", TIME, points)], claims)


def scaling(s):
    j = Jacobi(s)
    factors = [1, 2, 4] if s.quick else [1, 2, 4, 8]
    how = ("--comm", "host", "--fusion", "none", "--no-graph") if s.on_gpus else ()
    counts = powers(s.counts())
    base = j.middle if s.quick or not s.on_gpus else j.large
    weak, strong = [], []
    for odf in factors:
        for n in counts:
            x, y, z = j.weak(base if s.on_gpus else j.small, n)
            weak.append(Point(f"ODF {odf}", n, j.run(n, x, "--odf", str(odf), *how, y=y, z=z), iteration_us))
            strong.append(Point(f"ODF {odf}", n, j.run(n, base, "--odf", str(odf), *how), iteration_us))
    weak_title, strong_title = f"weak, {base if s.on_gpus else j.small}^3 each", f"strong, {base}^3"
    most = counts[-1]
    return Figure("c20-fig6", "Jacobi3D: weak and strong scaling", f"{C20}, Figure 6",
                  f"The paper: up to 3,072 V100. Here: up to {most} {s.unit_name} of one machine, one process.",
                  [Panel(weak_title, s.unit_name, TIME, weak), Panel(strong_title, s.unit_name, TIME, strong, log_y=True)],
                  [Claim("weak scaling, ODF 4 against ODF 1, up to 12 GPUs", "up to +44 %",
                         best_gain(weak_title, "ODF 1", "ODF 4", counts), "%"),
                   Claim("strong scaling, ODF 2 against ODF 1", "+35 % at 48 GPUs, +3 % at 1,536",
                         best_gain(strong_title, "ODF 1", "ODF 2", counts), "%")])


def optimisations(s):
    j = Jacobi(s)
    points = []
    counts = powers(s.counts())
    for n in counts:
        for name, streams in (("transfers in the streams of packing", "chare"), ("streams of their own for transfers", "split")):
            points.append(Point(name, n, j.run(n, j.large, "--odf", "4", "--comm", "host", "--streams", streams, "--fusion", "none",
                                               "--no-graph"), iteration_us, "" if s.on_gpus else "no GPU can be used here"))
    title = f"strong, {j.large}^3, ODF 4, by way of the host"
    return Figure("c22-fig6", "Jacobi3D before and after the optimisation of streams", f"{C22}, Figure 6",
                  "The paper's second optimisation, one synchronisation less, is in both lines here: chares wait once.",
                  [Panel(title, s.unit_name, TIME, points, log_y=True)])


def variants(s):
    j = Jacobi(s)
    counts = powers(s.counts())
    lines = [("MPI", None, ()), ("MPI, overlapped", None, ("--overlap",)), ("chares", 2, ())]
    if s.on_gpus:
        plain = ("--fusion", "none", "--no-graph")
        lines = [("MPI-H", None, ("--comm", "host")), ("MPI-D", None, ("--comm", "device")), ("Charm-H", 4, ("--comm", "host", *plain)),
                 ("Charm-D", 2, ("--comm", "device", *plain)), ("chares, all that imbrex has", 1, ())]
    panels = []
    for what, base in (("weak", j.large if s.on_gpus else j.small), ("weak", j.small), ("strong", j.large)):
        title = f"{what}, {base}^3" + (" each" if what == "weak" else "")
        if any(p.title == title for p in panels):
            continue
        points = []
        for name, odf, more in lines:
            for n in counts:
                x, y, z = j.weak(base, n) if what == "weak" else (base, base, base)
                if odf is None:
                    value = direct_us if name == "MPI-D" else iteration_us
                    points.append(Point(name, n, j.mpi(n, x, *more, y=y, z=z), value, j.no_ranks()))
                else:
                    small_odf = 1 if base == j.small else odf
                    points.append(Point(name, n, j.run(n, x, "--odf", str(small_odf), *more, y=y, z=z), iteration_us))
        panels.append(Panel(title, s.unit_name, TIME, points, log_y=what == "strong"))
    claims = []
    if s.on_gpus:
        claims = [Claim("weak, large: Charm-D against Charm-H", "up to +5 %",
                        best_gain(panels[0].title, "Charm-H", "Charm-D", counts), "%"),
                  Claim("weak, small: MPI-D against MPI-H", "substantially better",
                        best_gain(panels[1].title, "MPI-H", "MPI-D", counts), "%")]
    return Figure("c22-fig7", "Jacobi3D: MPI and chares, by way of the host or directly", f"{C22}, Figure 7",
                  "MPI: a rank for each unit. Chares: one process.", panels, claims)


def fusion(s):
    j = Jacobi(s)
    counts = powers(s.counts())
    panels = []
    missing = "" if s.on_gpus else "no GPU can be used here"
    for odf in (1, 8):
        points = [Point("none" if f == "none" else f"strategy {f}", n,
                        j.run(n, 192 if s.quick else 768, "--odf", str(odf), "--fusion", f, "--no-graph"), iteration_us, missing)
                  for f in ("none", "A", "B", "C", "D") for n in counts]
        panels.append(Panel(f"ODF {odf}", s.unit_name, TIME, points, log_y=True))
    return Figure("c22-fig8", "Kernel fusion in strong scaling", f"{C22}, Figure 8", "D is imbrex's own: one kernel for each GPU.", panels,
                  [Claim("ODF 8: C against none, at 128 nodes", "+51 %", best_gain("ODF 8", "none", "strategy C", counts), "%"),
                   Claim("ODF 1: C against none, at 128 nodes", "+20 %", best_gain("ODF 1", "none", "strategy C", counts), "%")])


def graphs(s):
    j = Jacobi(s)
    counts = powers(s.counts())
    missing = "" if s.on_gpus else "no GPU can be used here"
    panels, claims = [], []
    for odf in (1, 8):
        points = [Point(f"{f}, {'graphs' if graph == '--graph' else 'no graphs'}", n,
                        j.run(n, 192 if s.quick else 768, "--odf", str(odf), "--fusion", f, graph), iteration_us, missing)
                  for f in ("none", "A", "B", "C") for graph in ("--no-graph", "--graph") for n in counts]
        panels.append(Panel(f"ODF {odf}", s.unit_name, TIME, points, log_y=True))
        claims.append(Claim(f"ODF {odf}: graphs, without fusion", "little at ODF 1, more at ODF 8",
                            best_gain(f"ODF {odf}", "none, no graphs", "none, graphs", counts), "%"))
    return Figure("c22-fig9", "What CUDA graphs bring", f"{C22}, Figure 9", "", panels, claims)


def prema(s):
    j = Jacobi(s)
    counts = powers(s.counts())
    weighted = ("--alpha", "0.4", "--beta", "0.1")
    strong, weak = [], []
    for n in counts:
        x, y, z = j.weak(j.middle if s.on_gpus else j.small, n)
        for name, command in (("MPI", lambda a, b, c, n=n: j.mpi(n, a, *weighted, y=b, z=c)),
                              ("objects and tasks", lambda a, b, c, n=n: j.run(n, a, "--impl", "hetero", "--odf", "1", *weighted, y=b, z=c)),
                              ("objects and tasks, ODF 2",
                               lambda a, b, c, n=n: j.run(n, a, "--impl", "hetero", "--odf", "2", *weighted, y=b, z=c))):
            missing = j.no_ranks() if name == "MPI" else ""
            strong.append(Point(name, n, command(j.middle, j.middle, j.middle), iteration_us, missing))
            weak.append(Point(name, n, command(x, y, z), iteration_us, missing))
    return Figure("t24-fig13", "Jacobi3D by objects and tasks: strong and weak scaling", f"{T24}, Figures 13 and 15",
                  "The paper: nodes with four V100 each; ODF 2 is that of its Figure 15.",
                  [Panel(f"strong, {j.middle}^3", s.unit_name, TIME, strong, log_y=True),
                   Panel(f"weak, {j.middle if s.on_gpus else j.small}^3 each", s.unit_name, TIME, weak)])


FIGURES = {"c20-fig5": completion, "c20-fig6": scaling, "c22-fig6": optimisations, "c22-fig7": variants, "c22-fig8": fusion,
           "c22-fig9": graphs, "t24-fig13": prema}

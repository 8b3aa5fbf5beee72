"""Figures at the papers' own sizes, on machines that are simulated: Choi et al. 2020, Figures 5 to 7; Choi et al. 2022, Figures 6 to 8;
Thomadakis et al. 2024, Figures 10 to 13 and 15."""

from jacobi_figures import C20, C22, T24, TIME, iteration_us
from model import Claim, Figure, Panel, Point, gain
from other_figures import pingpong_value, step_ms

PLAIN = ("--fusion", "none", "--no-graph")
STAGED = ("--comm", "host", *PLAIN)
DIRECT = ("--comm", "device", *PLAIN)
ABOUT = "The scheduler, channels and protocols of imbrex in virtual time (docs/virtual-time.md), not Charm++'s; a rank for each GPU."


class Simulated:
    def __init__(self, s):
        self.s = s
        self.each = s.gpus_per_node
        self.nodes = [2**k for k in range(20) if 2**k * self.each <= s.gpus]

    def run(self, nodes, grid, odf, *more):
        x, y, z = grid
        cells = x * y * z / (nodes * self.each)
        iterations = 20 if cells > 1e6 else 40
        return (self.s.program("jacobi3d"), "-x", str(x), "-y", str(y), "-z", str(z), "-w", "4", "-i", str(iterations), "--repeats", "1",
                "--odf", str(odf), *self.s.spread(nodes * self.each), *more)

    def weak(self, base, nodes):
        """The grid whose extents grow twofold in x, y, z in turns as the nodes double (C20, V-A2)."""
        grid = [base, base, base]
        for k in range(nodes.bit_length() - 1):
            grid[k % 3] *= 2
        return tuple(grid)

    def points(self, series, nodes, grid_of, odf, *more):
        return [Point(series, n * self.each, self.run(n, grid_of(n), odf, *more), iteration_us) for n in nodes]


def best_of(panel, series, x):
    """The key of the fastest of several lines there."""

    def here(medians):
        there = [(medians[panel, name, x], name) for name in series if (panel, name, x) in medians]
        return (panel, min(there)[1], x) if there else None

    return here


def gain_of_best(panel, slow, fast_ones, xs):
    """The largest, over these places, of how many percent the fastest of some lines is faster than another line."""

    def here(medians):
        gains = []
        for x in xs:
            best = best_of(panel, fast_ones, x)(medians)
            g = gain((panel, slow, x), best)(medians) if best else None
            if g is not None:
                gains.append(g)
        return max(gains) if gains else None

    return here


def completion(s):
    j = Simulated(s)
    factors = [1, 2, 4, 8] if s.quick else [1, 2, 4, 8, 16]
    ways = {"polling (a number)": "flag", "polling (events)": "event", "callback": "callback", "synchronise": "sync"}
    title = f"1536^3 on one node, {j.each} GPUs"
    points = [Point(name, odf, j.run(1, (1536,) * 3, odf, *STAGED, "--completion", way), iteration_us)
              for name, way in ways.items() for odf in factors]
    sync, poll = "synchronise", "polling (events)"
    claims = [Claim("asynchronous completion against cudaStreamSynchronize, at its best ODF", "up to +83 %",
                    lambda m: max((g for odf in factors if (g := gain((title, sync, odf), (title, poll, odf))(m)) is not None), default=None), "%"),
              Claim("ODF 4 against ODF 1, polling", "+43 %", gain((title, poll, 1), (title, poll, 4)), "%")]
    return Figure("c20-fig5", "Jacobi3D with varying overdecomposition factors", f"{C20}, Figure 5", ABOUT,
                  [Panel(title, "overdecomposition factor", TIME, points)], claims)


def scaling(s):
    j = Simulated(s)
    factors = [1, 2, 4]
    strong_nodes = [n for n in j.nodes if n >= 8]
    weak_title, strong_title = "weak, 1536^3 a node", "strong, 3072^3"
    weak = [p for odf in factors for p in j.points(f"ODF {odf}", j.nodes, lambda n: j.weak(1536, n), odf, *STAGED)]
    strong = [p for odf in factors for p in j.points(f"ODF {odf}", strong_nodes, lambda n: (3072,) * 3, odf, *STAGED)]
    claims = [Claim("weak scaling, ODF 4 against ODF 1, up to two nodes", "up to +44 %",
                    gain_of_best(weak_title, "ODF 1", ["ODF 4"], [n * j.each for n in j.nodes[:2]]), "%"),
              Claim("weak scaling, ODF 2 against ODF 1, on more", "+24 to +37 %",
                    gain_of_best(weak_title, "ODF 1", ["ODF 2"], [n * j.each for n in j.nodes[2:]]), "%")]
    for n, stated in ((8, "+35 %"), (256, "+3 %"), (512, "-8 %")):
        if n in strong_nodes:
            claims.append(Claim(f"strong scaling, ODF 2 against ODF 1, {n * j.each} GPUs", stated,
                                gain((strong_title, "ODF 1", n * j.each), (strong_title, "ODF 2", n * j.each)), "%"))
    return Figure("c20-fig6", "Jacobi3D: weak and strong scaling", f"{C20}, Figure 6", ABOUT,
                  [Panel(weak_title, "GPUs", TIME, weak), Panel(strong_title, "GPUs", TIME, strong, log_y=True)], claims)


def minimd(s):
    j = Simulated(s)
    factors = [1, 2, 4]
    weak_title, strong_title = "weak, 192^3 cells a node", "strong, 512^3 cells"

    def points(nodes, grid_of):
        def command(n, odf):
            x, y, z = grid_of(n)
            return (s.program("minimd"), "--nx", str(x), "--ny", str(y), "--nz", str(z), "-n", "20", "--reneighbour", "0", "--thermo", "0", "-o",
                    "0", "--comm", "host", "--odf", str(odf), *s.spread(n * j.each))

        return [Point(f"ODF {odf}", n * j.each, command(n, odf), step_ms) for odf in factors for n in nodes]

    weak_nodes = [n for n in j.nodes if n <= 64]
    strong_nodes = [n for n in j.nodes if n >= 8]
    claims = [Claim("weak scaling, ODF 4 against ODF 1", "+26 to +45 %", gain_of_best(weak_title, "ODF 1", ["ODF 4"], [n * j.each for n in weak_nodes]), "%")]
    for n, odf, stated in ((8, 4, "+36 to +42 %"), (32, 4, "+36 to +42 %"), (512, 2, "-3 %")):
        if n in strong_nodes:
            claims.append(Claim(f"strong scaling, ODF {odf} against ODF 1, {n * j.each} GPUs", stated,
                                gain((strong_title, "ODF 1", n * j.each), (strong_title, f"ODF {odf}", n * j.each)), "%"))
    return Figure("c20-fig7", "miniMD: weak and strong scaling", f"{C20}, Figure 7",
                  ABOUT + " By way of the host, without reneighbouring, as the paper has it; atoms as many as there are on average, and no MPI.",
                  [Panel(weak_title, "GPUs", "time per step (ms)", points(weak_nodes, lambda n: j.weak(192, n))),
                   Panel(strong_title, "GPUs", "time per step (ms)", points(strong_nodes, lambda n: (512,) * 3), log_y=True)], claims)


def optimisations(s):
    j = Simulated(s)
    strong_nodes = [n for n in j.nodes if n >= 8]
    title = "strong, 3072^3, ODF 4, by way of the host"
    points = []
    for name, streams in (("transfers in the streams of packing", "chare"), ("streams of their own for transfers", "split")):
        points += j.points(name, strong_nodes, lambda n: (3072,) * 3, 4, *STAGED, "--streams", streams)
    return Figure("c22-fig6", "Jacobi3D before and after the optimisation of streams", f"{C22}, Figure 6", ABOUT,
                  [Panel(title, "GPUs", TIME, points, log_y=True)])


def variants(s):
    j = Simulated(s)
    panels, claims = [], []
    strong_nodes = [n for n in j.nodes if n >= 8]
    for title, nodes, grid in (("weak, 1536^3 a node", j.nodes, lambda n: j.weak(1536, n)), ("weak, 192^3 a node", j.nodes, lambda n: j.weak(192, n)),
                               ("strong, 3072^3", strong_nodes, lambda n: (3072,) * 3)):
        points = []
        for name, more in (("Charm-H", STAGED), ("Charm-D", DIRECT)):
            for odf in (1, 2, 4):
                points += j.points(f"{name}, ODF {odf}", nodes, grid, odf, *more)
        panels.append(Panel(title, "GPUs", TIME, points, log_y=True))
    large, small, strong = (p.title for p in panels)
    xs = [n * j.each for n in j.nodes]
    staged, direct = [[f"{name}, ODF {odf}" for odf in (1, 2, 4)] for name in ("Charm-H", "Charm-D")]

    def best_against_best(panel, places):
        def here(medians):
            gains = []
            for x in places:
                a, b = best_of(panel, staged, x)(medians), best_of(panel, direct, x)(medians)
                if a and b:
                    gains.append(gain(a, b)(medians))
            return max(gains) if gains else None

        return here

    claims.append(Claim("weak, large: Charm-D against Charm-H, each at its best ODF", "up to +5 %", best_against_best(large, xs), "%"))
    claims.append(Claim("weak, large: Charm-D at its best ODF against Charm-H at ODF 1, most nodes", "+61 % on 512",
                        gain_of_best(large, "Charm-H, ODF 1", direct, xs[-1:]), "%"))
    claims.append(Claim("weak, small: Charm-D against Charm-H, ODF 1", "substantially better",
                        gain_of_best(small, "Charm-H, ODF 1", ["Charm-D, ODF 1"], xs), "%"))
    if 512 in strong_nodes:
        x = 512 * j.each
        claims += [Claim("strong, 512 nodes: Charm-H, ODF 2 against ODF 1", "-13 %", gain((strong, "Charm-H, ODF 1", x), (strong, "Charm-H, ODF 2", x)), "%"),
                   Claim("strong, 512 nodes: Charm-D, ODF 2 against ODF 1", "+13 %", gain((strong, "Charm-D, ODF 1", x), (strong, "Charm-D, ODF 2", x)), "%"),
                   Claim("strong, 512 nodes: time per iteration of Charm-D", "below 1000 us",
                         lambda m: m.get(best_of(strong, direct, x)(m)) if best_of(strong, direct, x)(m) else None, "us")]
    return Figure("c22-fig7", "Jacobi3D: chares by way of the host or directly", f"{C22}, Figure 7", ABOUT + " The MPI twins are not simulated.", panels, claims)


def fusion(s):
    j = Simulated(s)
    nodes = [n for n in j.nodes if n <= 128]
    panels, claims = [], []
    for odf, stated in ((1, "+20 %"), (8, "+51 %")):
        title = f"768^3, ODF {odf}"
        points = []
        for f in ("none", "A", "B", "C"):
            points += j.points("none" if f == "none" else f"strategy {f}", nodes, lambda n: (768,) * 3, odf, "--comm", "device", "--fusion", f, "--no-graph")
        panels.append(Panel(title, "GPUs", TIME, points, log_y=True))
        claims.append(Claim(f"ODF {odf}: C against none, 128 nodes", stated,
                            gain((title, "none", 128 * j.each), (title, "strategy C", 128 * j.each)), "%"))
    return Figure("c22-fig8", "Kernel fusion in strong scaling", f"{C22}, Figure 8", ABOUT, panels, claims)


def ping_pong(s):
    sizes = [8 * 8**k for k in range(5 if s.quick else 7)] + [8 << 20]
    modes = {"channel-device": "channels", "message-device": "messages", "put-device": "put"}
    panels = []
    for title, label, key, less in (("latency", "one way (us)", "one_way_us", True), ("bandwidth", "GB/s", "gb_per_second", False)):
        points = []
        for how, protocol in (("by way of the host", "staged"), ("directly", "auto")):
            command = (s.program("pingpong"), "--modes", ",".join(modes), "--sizes", ",".join(map(str, sizes)), "--repeats", "1", "--trips", "20",
                       f"--imbrex-machine={s.machine}", "--imbrex-device=cuda", "--imbrex-nodes=2", "--imbrex-ranks-per-node=1",
                       f"--imbrex-protocol={protocol}")
            points += [Point(f"{name}, {how}", size, command, pingpong_value(mode, size, key)) for mode, name in modes.items() for size in sizes]
        panels.append(Panel(title, "bytes", label, points, log_y=True, less_is_better=less))

    def direct_against_staged(places):
        def here(medians):
            gains = [g for x in places for name in modes.values()
                     if (g := gain(("latency", f"{name}, by way of the host", x), ("latency", f"{name}, directly", x))(medians)) is not None]
            return max(gains) if gains else None

        return here

    return Figure("t24-fig10", "Ping-pong between GPUs of two nodes", f"{T24}, Figures 10 to 12", "imbrex's interfaces in virtual time; MPI+CUDA is not simulated.", panels,
                  [Claim("directly against by way of the host, small messages", "up to +100 %", direct_against_staged([x for x in sizes if x <= 4096]), "%"),
                   Claim("the same, large messages", "up to +200 %", direct_against_staged([x for x in sizes if x > 4096]), "%")])


def prema(s):
    j = Simulated(s)
    nodes = [n for n in (1, 2, 3, 4, 8, 16) if n * j.each <= s.gpus]
    title, points = "strong, 1024 x 1024 x 768", []
    for odf in (1, 2, 4, 6):
        points += j.points(f"by way of the host, ODF {odf}", nodes, lambda n: (1024, 1024, 768), odf, *STAGED)
        points += j.points(f"directly, ODF {odf}", nodes, lambda n: (1024, 1024, 768), odf, *DIRECT)
    claims = []
    for name in ("by way of the host", "directly"):
        claims.append(Claim(f"12 GPUs, {name}: ODF 2 against ODF 1", "about +20 %", gain((title, f"{name}, ODF 1", 12), (title, f"{name}, ODF 2", 12)), "%"))
    return Figure("t24-fig13", "Jacobi3D: strong scaling with overdecomposition", f"{T24}, Figures 13 and 15", "Chares of imbrex in virtual time, not PREMA's objects and tasks; MPI+CUDA is not simulated.",
                  [Panel(title, "GPUs", TIME, points, log_y=True)], claims)


FIGURES = {"c20-fig5": completion, "c20-fig6": scaling, "c20-fig7": minimd, "c22-fig6": optimisations, "c22-fig7": variants, "c22-fig8": fusion, "t24-fig10": ping_pong,
           "t24-fig13": prema}

#!/usr/bin/env python3
"""Runs minimd as users do and checks what they rely on.

  minimd_test.py GROUP --bin FOLDER [--mpirun COMMAND...]

Groups: chares, files, bad_input, restart, mpi, gpu. Exit status 0 when all is well, 77 when there is no GPU for group gpu.
"""
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile

FAILURES = []
NUMBERS = itertools.count()

# Of the reference, -s 10 (Mantevo miniMD 2.0): step, T, U, P.
REFERENCE = [(0, 1.44, -6.773368053257, -5.019973182084),
             (100, 0.7208598686408525, -5.701261482532777, 0.5236926109997563)]


def run(words, code=0, timeout=120, cwd=None):
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, cwd=cwd)
    if code is not None and done.returncode != code:
        FAILURES.append(f"{' '.join(words)}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


def expect(condition, text):
    if not condition:
        FAILURES.append(text)


def rows_of(words, folder):
    """(step, T, U, P) of each state, from the report of a run."""
    path = os.path.join(folder, f"report-{next(NUMBERS)}.json")
    done = run([*words, "--report", path, "--quiet"])
    if done.returncode != 0:
        return []
    with open(path) as f:
        return [(r["step"], r["temperature"], r["energy"], r["pressure"]) for r in json.load(f)["thermo"]]


def expect_near(found, wanted, relative, what):
    expect(len(found) == len(wanted), f"{what}: {len(found)} states, expected {len(wanted)}")
    for a, b in zip(found, wanted):
        for x, y in zip(a, b):
            expect(abs(x - y) <= relative * max(1, abs(y)), f"{what}, step {b[0]}: {x!r}, expected {y!r}")


def chares(p, folder):
    base = [p.minimd, "-s", "10", "-n", "100"]
    for extra in ([], ["--impl", "serial"], ["--odf", "4", "--pes", "2"], ["-c", "27", "--half_neigh", "0"], ["-c", "5", "-gn", "0", "--pes", "3"],
                  ["-c", "6", "--exchange", "rounds"], ["-c", "8", "--imbrex-ranks", "2", "--pes", "2"],
                  ["-c", "4", "--pes", "4", "--imbrex-single-thread"],
                  ["-c", "8", "--imbrex-ranks", "2", "--imbrex-loopback-reorder", "--imbrex-loopback-delay-us", "50"]):
        expect_near(rows_of([*base, *extra], folder), REFERENCE, 1e-9, " ".join(extra))
    small = [p.minimd, "-s", "5", "-n", "50", "--thermo", "10"]
    alone = rows_of([*small, "-c", "1", "--pes", "1"], folder)
    expect(len(alone) == 6, f"{len(alone)} states")
    for extra in (["-c", "40"], ["-c", "12", "--exchange", "rounds", "--half_neigh", "0"], ["-c", "7", "--imbrex-ranks", "3"]):
        expect_near(rows_of([*small, *extra], folder), alone, 1e-12, " ".join(extra))
    in_order = rows_of([*small, "--deterministic", "-c", "1", "--pes", "1"], folder)
    for extra in (["-c", "30"], ["-c", "8", "--exchange", "rounds"], ["-c", "9", "--imbrex-ranks", "2"],
                  ["-c", "12", "--imbrex-schedule-seed", "3"]):
        found = rows_of([*small, "--deterministic", *extra], folder)
        expect(found == in_order, f"--deterministic {' '.join(extra)}: {found}, expected {in_order}")
    never = rows_of([*base, "--reneighbour", "0", "-c", "4"], folder)
    expect(len(never) == 2, "never reneighboured")
    none = rows_of([p.minimd, "-s", "4", "-n", "0"], folder)
    expect(len(none) == 1 and none[0][0] == 0, f"no steps: {none}")


INPUT = """a comment
another
lj             units (lj or metal)
none           data file
lj             force style
1.0 1.0        epsilon and sigma
6 5 4          size
30             steps
0.005          time step
1.44           temperature
0.8442         density
10             reneighbouring
2.5 0.30       cutoff and skin
10             thermo
"""
LAMMPS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 5 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 376847 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 10 delay 0 check no
fix 1 all nve
timestep 0.005
thermo 10
run 30
"""


def files(p, folder):
    paths = {}
    for name, text in (("in.md", INPUT), ("in.lammps", LAMMPS)):
        paths[name] = os.path.join(folder, name)
        with open(paths[name], "w") as f:
            f.write(text)
    from_options = rows_of([p.minimd, "-nx", "6", "-ny", "5", "-nz", "4", "-n", "30", "--thermo", "10",
                            "--reneighbour", "10", "-c", "3"], folder)
    expect(len(from_options) == 4, f"{from_options}")
    for path in paths.values():
        expect_near(rows_of([p.minimd, "-i", path, "-c", "3"], folder), from_options, 1e-14, path)

    dump = os.path.join(folder, "atoms.lammpstrj")
    run([p.minimd, "-i", paths["in.md"], "-c", "4", "--deterministic", "--dump", dump, "--dump-every", "10", "--dump",
         os.path.join(folder, "atoms.xyz"), "--yaml", os.path.join(folder, "a.yaml"), "--quiet"])
    with open(dump) as f:
        lines = f.read().splitlines()
    expect(lines.count("ITEM: TIMESTEP") == 4, f"{lines.count('ITEM: TIMESTEP')} frames")
    with open(os.path.join(folder, "a.yaml")) as f:
        expect("thermodynamic_output" in f.read(), "a.yaml")

    metal(p, folder)

    # The last frame, as a data file, goes on as the run would have.
    start = len(lines) - 1 - lines[::-1].index("ITEM: TIMESTEP")
    atoms = [line.split() for line in lines[start + 9:]]
    box = [float(line.split()[1]) for line in lines[start + 5:start + 8]]
    number = {a[0]: i + 1 for i, a in enumerate(atoms)}
    data = os.path.join(folder, "atoms.data")
    with open(data, "w") as f:
        f.write(f"from a dump\n\n{len(atoms)} atoms\n1 atom types\n\n")
        f.write("".join(f"0 {box[d]!r} {c}lo {c}hi\n" for d, c in enumerate("xyz")))
        f.write("\nMasses\n\n1 1.0\n\nAtoms\n\n")
        f.write("".join(f"{number[a[0]]} 1 {a[2]} {a[3]} {a[4]}\n" for a in atoms))
        f.write("\nVelocities\n\n" + "".join(f"{number[a[0]]} {a[5]} {a[6]} {a[7]}\n" for a in atoms))
    whole = rows_of([p.minimd, "-i", paths["in.md"], "-n", "60", "--thermo", "30", "-c", "2"], folder)
    rest = rows_of([p.minimd, "-f", data, "-n", "30", "--thermo", "30", "--reneighbour", "10", "-c", "5"], folder)
    expect_near([r[1:] for r in rest], [r[1:] for r in whole[1:]], 1e-10, "from a data file")


def metal_file(folder):
    """A funcfl file of a metal that is none."""
    path = os.path.join(folder, "metal.eam")
    r = [0.01 * i for i in range(500)]
    values = [-2 * math.sqrt(x + 0.04) + 0.4 for x in r]
    values += [8 * math.exp(-1.4 * x) * (1 - x / 5) ** 2 for x in r]
    values += [0.5 * math.exp(-0.9 * x) * (1 - x / 5) ** 2 for x in r]
    with open(path, "w") as f:
        f.write("made up\n29 63.55 3.615 FCC\n500 0.01 500 0.01 4.9\n")
        f.write("\n".join(" ".join(f"{v!r}" for v in values[i:i + 5]) for i in range(0, 1500, 5)) + "\n")
    return path


def metal(p, folder):
    words = [p.minimd, "--force", "eam", "--eam", metal_file(folder), "-s", "5", "-n", "50", "--thermo", "10"]
    alone = rows_of([*words, "-c", "1", "--pes", "1"], folder)
    expect(len(alone) == 6 and alone[0][2] < 0 and alone[5][1] < 600, f"a metal: {alone}")
    for extra in (["-c", "8"], ["-c", "6", "--half_neigh", "0"], ["-c", "5", "--exchange", "rounds", "--imbrex-ranks", "2"]):
        expect_near(rows_of([*words, *extra], folder), alone, 1e-11, "a metal, " + " ".join(extra))
    return words, alone


def gpu(p, folder):
    probe = subprocess.run([p.minimd, "--device", "cuda", "-s", "4", "-n", "1"], capture_output=True, text=True)
    if probe.returncode != 0:
        print("SKIPPED: " + (probe.stderr.strip().splitlines() or ["no reason given"])[-1])
        sys.exit(77)
    expect_near(rows_of([p.minimd, "--device", "cuda", "-s", "10", "-n", "100"], folder), REFERENCE, 1e-9, "GPU")
    words, alone = metal(p, folder)
    for extra in ([], ["-c", "2"], ["-c", "8", "--comm", "host"], ["-c", "6", "--imbrex-ranks", "2"]):
        expect_near(rows_of([*words, "--device", "cuda", *extra], folder), alone, 1e-11, "a metal on a GPU")
    for extra in (["-c", "2"], ["-c", "3"], ["-c", "4", "--lists", "half"], ["-c", "12"], ["-c", "8", "--comm", "host"],
                  ["-c", "8", "--streams", "device"], ["-c", "8", "--streams", "split", "--comm", "host"],
                  ["-c", "27", "--pes", "3", "--imbrex-gpus", "1"], ["-c", "8", "--imbrex-ranks", "2"],
                  ["-c", "8", "--imbrex-ranks", "4", "--comm", "host"]):
        expect_near(rows_of([p.minimd, "--device", "cuda", "-s", "10", "-n", "100", *extra], folder), REFERENCE, 1e-9,
                    "GPU, " + " ".join(extra))
    # Hot atoms that cross boxes, often.
    done = run([p.minimd, "--device", "cuda", "-nx", "7", "-ny", "14", "-nz", "9", "--reneighbour", "3", "-n", "60",
                "-c", "6", "--temperature", "4", "--verify"])
    expect("verified" in done.stdout, done.stdout)
    done = run([p.minimd, "--device", "cuda", "-s", "10", "-c", "4", "--precision", "single", "--verify"])
    expect("verified" in done.stdout, done.stdout)
    # An atom that goes further than the boxes around is named.
    done = run([p.minimd, "--device", "cuda", "-s", "10", "-c", "8", "--dt", "0.5", "-n", "40"], code=70)
    expect("is lost" in done.stderr, done.stderr)
    # More chares than boxes that are as wide as atoms act.
    done = run([p.minimd, "--device", "cuda", "-s", "4", "-c", "64"], code=2)
    expect("use fewer chares" in done.stderr, done.stderr)
    if p.mpirun:
        for extra in (["--impl", "mpi"], ["--impl", "mpi", "--comm", "host"], ["--odf", "2"], ["--comm", "host"]):
            words = [*p.mpirun, "-n", "3", p.minimd, "--device", "cuda", "-s", "10", "-n", "100", *extra]
            expect_near(rows_of(words, folder), REFERENCE, 1e-9, " ".join(words))
    for extra in (["-s", "3", "--reneighbour", "5"], ["-nx", "7", "-ny", "4", "-nz", "3", "--reneighbour", "3"],
                  ["-nx", "2", "-ny", "9", "-nz", "30"], ["-s", "12", "--reneighbour", "0"]):
        done = run([p.minimd, "--device", "cuda", "-n", "60", "-c", "1", "--verify", *extra])
        expect("verified" in done.stdout, done.stdout)
    gpu_restart(p, folder)
    dumps = []
    for device in ("host", "cuda"):
        dumps.append(os.path.join(folder, f"{device}.lammpstrj"))
        run([p.minimd, "--device", device, "-s", "4", "-n", "20", "--dump", dumps[-1], "--dump-every", "10", "--quiet"])
    frames = []
    for path in dumps:
        with open(path) as f:
            frames.append([line.split() for line in f])
    expect(len(frames[0]) == len(frames[1]), "frames")
    length = 4 * (4 / 0.8442) ** (1 / 3)
    for a, b in zip(*frames):
        if len(a) != 8 or a[0] == "ITEM:":
            continue
        expect(a[0] == b[0], f"{a[0]} is not {b[0]}")
        for d in range(2, 8):
            apart = abs(float(a[d]) - float(b[d]))
            expect(min(apart, abs(apart - length) if d < 5 else apart) < 1e-9, f"atom {a[0]}: {a} and {b}")


def gpu_restart(p, folder):
    for name, extra in (("atoms", ["-s", "16"]), ("metal", ["-s", "8", "--force", "eam", "--eam", metal_file(folder)])):
        base = [p.minimd, "--device", "cuda", "-n", "600", "--thermo", "100", "-c", "2", *extra]
        whole = rows_of(base, folder)
        kept = os.path.join(folder, name)
        made = ["--imbrex-checkpoint", kept, "--imbrex-checkpoint-every=1", "--imbrex-checkpoint-keep=9"]
        expect(rows_of([*base, *made], folder) == whole, f"{name} on GPUs with checkpoints: other states")
        for which in sorted(os.listdir(kept))[:1] + sorted(os.listdir(kept))[-1:]:
            for shape in ([], ["--pes", "1"], ["--pes", "2", "--imbrex-gpus", "1"], ["--imbrex-ranks", "2"]):
                found = rows_of([*base, *shape, f"--imbrex-restart={kept}/{which}"], folder)
                expect(found == whole, f"{name} on GPUs, restarted from {which}, {shape}: {found}, expected {whole}")
        done = run([w for w in base if w not in ("--device", "cuda")] + [f"--imbrex-restart={kept}"], code=2)
        expect("restart with --device cuda" in done.stderr, done.stderr)


def bad_input(p, folder):
    def refused(words, *texts, code=2):
        done = run([p.minimd, *words], code=code)
        for t in texts:
            expect(t in done.stderr, f"{' '.join(words)}: no {t!r} in {done.stderr!r}")

    refused(["-s", "0"], "0")
    refused(["-s", "1"], "use more cells")
    refused(["--odf", "2", "-c", "4"])
    refused(["-c", "-3"], "-3")
    refused(["--dump", "a.txt"], "a.txt")
    refused(["--report", os.path.join(folder, "none", "r.json"), "-s", "4"], "none")
    refused(["--yaml", os.path.join(folder, "none", "y.yaml"), "-s", "4"], "none", "give a path")
    for impl in ("chare", "serial"):
        refused(["-s", "4", "--density", "1e-11", "--impl", impl], "not enough memory on a node", "--density", code=1)
    refused(["-s", "4", "-c", "999999999"], "999999999 chares", "use at most 256")
    refused(["-s", "4", "--impl", "serial", "--imbrex-pes=2"], "--imbrex-pes needs the runtime")
    refused(["-i", os.path.join(folder, "none.md")], "none.md")
    refused(["--force", "eam", "-s", "4", "--eam", os.path.join(folder, "none.eam")], "none.eam")
    refused(["--device", "moon"], "moon")
    refused(["--comm", "host"], "--comm host needs --device cuda")
    refused(["--streams", "split"], "--streams split needs --device cuda")
    refused(["--precision", "single"], "--precision single")
    refused(["--precision", "half"], "half")
    refused(["--device", "cuda", "--impl", "serial"], "--impl serial")
    refused(["--device", "cuda", "--sort", "3"], "--sort")
    bad = os.path.join(folder, "in.bad")
    with open(bad, "w") as f:
        f.write(INPUT.replace("2.5 0.30", "2.5 wide"))
    refused(["-i", bad], "in.bad:13", "wide")
    with open(bad, "w") as f:
        f.write(LAMMPS.replace("fix 1 all nve", "fix 1 all nvt temp 1 1 1"))
    refused(["-i", bad], "in.bad:13", "nvt")
    # Two atoms on top of each other: the job ends, and says which atom and where.
    data = os.path.join(folder, "bad.data")
    with open(data, "w") as f:
        f.write("x\n\n2 atoms\n1 atom types\n0 9 xlo xhi\n0 9 ylo yhi\n0 9 zlo zhi\n\nMasses\n\n1 1\n\nAtoms\n\n"
                "1 1 4 4 4\n2 1 4 4 4.0001\n")
    refused(["-f", data, "-n", "30", "--reneighbour", "1"], "is lost", code=70)


def mpi(p, folder):
    base = ["-s", "10", "-n", "100"]
    for n, extra in ((1, []), (3, []), (4, ["--exchange", "rounds"]), (2, ["--half_neigh", "0", "--exchange", "rounds"])):
        for impl in ("mpi", "chare"):
            words = [*p.mpirun, "-n", str(n), p.minimd, "--impl", impl, *base, *extra]
            expect_near(rows_of(words, folder), REFERENCE, 1e-9, " ".join(words))
    dump = os.path.join(folder, "atoms.xyz")
    run([*p.mpirun, "-n", "2", p.minimd, "--impl", "mpi", "-s", "4", "-n", "5", "--dump", dump, "--quiet"])
    with open(dump) as f:
        expect(f.readline().strip() == "256", "the dump has all atoms of all ranks")


def restart(p, folder):
    base = [p.minimd, "-s", "8", "-n", "1500", "--thermo", "150", "-c", "12"]
    whole = rows_of([*base, "--pes", "2"], folder)
    expect(len(whole) == 11, f"{len(whole)} states")
    checkpoints = os.path.join(folder, "checkpoints")
    made = ["--imbrex-checkpoint", checkpoints, "--imbrex-checkpoint-every=1", "--imbrex-checkpoint-keep=9"]
    expect(rows_of([*base, "--pes", "2", *made], folder) == whole, "with checkpoints the states are others")
    kept = sorted(os.listdir(checkpoints))
    expect(len(kept) > 1, f"checkpoints: {kept}")
    shapes = (["--pes", "2"], ["--pes", "3"], ["--pes", "1", "--imbrex-ranks=3"])
    for shape, which in itertools.product(shapes, kept[:1] + kept[-1:]):
        found = rows_of([*base, *shape, f"--imbrex-restart={checkpoints}/{which}"], folder)
        expect(found == whole, f"restarted from {which}, {' '.join(shape)}: {found}, expected {whole}")
    for shape in (["--pes", "3"], ["--pes", "2", "--imbrex-ranks=2"], ["--pes", "1", "--imbrex-ranks=3"]):
        for strategy in ("greedy", "rcb"):
            words = [*base, *shape, "--balance", strategy, "--imbrex-balance-every-ms=5"]
            expect(rows_of(words, folder) == whole, f"balanced: {' '.join(words)}")
    refused = [*base, "--quiet", f"--imbrex-restart={checkpoints}", "-s", "9"]
    done = run([w for i, w in enumerate(refused) if i not in (1, 2)], code=2)
    expect("the checkpoint is of 2048 atoms" in done.stderr, f"another system: {done.stderr}")
    dumps_go_on(p, folder)


def dumps_go_on(p, folder):
    base = [p.minimd, "-s", "6", "-n", "400", "-c", "4", "--dump-every", "50", "--quiet"]
    whole, cut = os.path.join(folder, "whole.xyz"), os.path.join(folder, "cut.xyz")
    run([*base, "--dump", whole])
    kept = os.path.join(folder, "with_dumps")
    run([*base, "--dump", cut, "--imbrex-checkpoint", kept, "--imbrex-checkpoint-every=3", "--imbrex-checkpoint-keep=9"])
    for which in sorted(os.listdir(kept))[:2]:
        run([*base, "--pes", "1", "--dump", cut, f"--imbrex-restart={kept}/{which}"])
        with open(whole) as a, open(cut) as b:
            expect(a.read() == b.read(), f"dumps after a restart from {which}")
    os.truncate(cut, 100)
    done = run([*base, "--dump", cut, f"--imbrex-restart={kept}/{sorted(os.listdir(kept))[-1]}"], code=2)
    expect("cut.xyz" in done.stderr and "restart without --dump" in done.stderr, f"frames that are gone: {done.stderr}")


class programs:
    def __init__(self, folder, mpirun):
        self.minimd = os.path.join(folder, "minimd")
        self.mpirun = mpirun


def main():
    words = sys.argv[1:]
    group = words.pop(0)
    mpirun = words[words.index("--mpirun") + 1:] if "--mpirun" in words else []
    p = programs(words[words.index("--bin") + 1], mpirun)
    with tempfile.TemporaryDirectory() as folder:
        {"chares": chares, "files": files, "bad_input": bad_input, "restart": restart, "mpi": mpi,
         "gpu": gpu}[group](p, folder)
    print("\n".join(FAILURES) if FAILURES else f"{group}: all is well")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())

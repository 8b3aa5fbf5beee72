#!/usr/bin/env python3
"""Writes atoms that are unevenly spread, as a LAMMPS data file for `minimd -f FILE` (Lennard-Jones units).

  droplet:   a ball of fcc crystal that flies through an empty box, in z and a bit in x, and comes in again at the other side
  gradient:  an fcc crystal of which more and more sites are empty towards z = 0; atoms stay where they are, about

In z, across which minimd's boxes are dealt out to PEs.

  uneven_atoms.py droplet --box 64 --radius 14 --speed 4 droplet.data
  minimd -f droplet.data --reneighbour 5 --dt 0.005 -n 2000 -c 256 --balance sfc
"""
import argparse
import math
import random


def lattice(box, density):
    """Sites of fcc with about this density that fill a periodic box."""
    cells = max(1, round(box * (density / 4) ** (1 / 3)))
    a = box / cells
    for z in range(cells):
        for y in range(cells):
            for x in range(cells):
                for dx, dy, dz in ((0, 0, 0), (0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5)):
                    yield (x + dx) * a, (y + dy) * a, (z + dz) * a


def droplet(o):
    middle = o.box / 2
    start = o.box / 4
    for p in lattice(o.box, o.density):
        if math.dist(p, (middle, middle, start)) < o.radius:
            yield p


def gradient(o):
    chance = random.Random(o.seed)
    for p in lattice(o.box, o.density):
        if chance.random() < p[2] / o.box:
            yield p


def velocities(count, o, drift):
    chance = random.Random(o.seed + 1)
    width = math.sqrt(o.temperature)
    all_ = [[chance.gauss(0, width) for _ in range(3)] for _ in range(count)]
    for axis in range(3):
        mean = sum(v[axis] for v in all_) / max(count, 1)
        for v in all_:
            v[axis] += drift[axis] - mean
    return all_


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("droplet", "gradient"))
    parser.add_argument("file")
    parser.add_argument("--box", type=float, default=64.0, help="length of its sides (default: %(default)s)")
    parser.add_argument("--radius", type=float, default=14.0, help="of the droplet (default: %(default)s)")
    parser.add_argument("--speed", type=float, default=4.0, help="of the droplet (default: %(default)s)")
    parser.add_argument("--density", type=float, default=0.95, help="of a full crystal (default: %(default)s)")
    parser.add_argument("--temperature", type=float, default=0.3, help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of chance (default: %(default)s)")
    o = parser.parse_args()
    if o.what == "droplet" and not 0 < o.radius <= o.box / 4:
        parser.error(f"--radius {o.radius:g}: give more than 0 and at most a quarter of --box, {o.box / 4:g}")
    atoms = list(droplet(o) if o.what == "droplet" else gradient(o))
    if not atoms:
        parser.error("there are no atoms: give a larger --box or --density")
    drift = (o.speed / 7, 0, o.speed) if o.what == "droplet" else (0, 0, 0)
    with open(o.file, "w", encoding="ascii") as out:
        out.write(f"{o.what}, by uneven_atoms.py\n\n{len(atoms)} atoms\n1 atom types\n")
        for axis in "xyz":
            out.write(f"0 {o.box:g} {axis}lo {axis}hi\n")
        out.write("\nMasses\n\n1 1\n\nAtoms\n\n")
        for i, p in enumerate(atoms, 1):
            out.write(f"{i} 1 {p[0]:.9f} {p[1]:.9f} {p[2]:.9f}\n")
        out.write("\nVelocities\n\n")
        for i, v in enumerate(velocities(len(atoms), o, drift), 1):
            out.write(f"{i} {v[0]:.9f} {v[1]:.9f} {v[2]:.9f}\n")
    print(f"{o.file}: {len(atoms)} atoms in a box of {o.box:g}")


if __name__ == "__main__":
    main()

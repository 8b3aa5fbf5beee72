#!/usr/bin/env python3
"""imbrex balance-replay writes examples, tries strategies on them, draws, and says what is wrong with a file.

  balance_replay_test.py TOOL
"""
import json
import os
import subprocess
import sys
import tempfile
import xml.dom.minidom

FAILURES = []
tool = sys.argv[1]


def run(*words, code=0):
    words = [tool, "balance-replay", *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    if done.returncode != code:
        FAILURES.append(f"{' '.join(words)}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


def expect(condition, text):
    if not condition:
        FAILURES.append(text)


def rows(text, strategy):
    return [line.split() for line in text.splitlines() if line.startswith(strategy + " ")]


with tempfile.TemporaryDirectory() as here:
    example = os.path.join(here, "e.jsonl")
    picture = os.path.join(here, "loads.svg")
    run("--example", example, "--example-elements", "512", "--example-pes", "8", "--example-gpus", "2",
        "--example-steps", "3")
    with open(example) as f:
        lines = [json.loads(line) for line in f]
    expect(sum("imbrex_balance" in line for line in lines) == 3, "three records")
    expect(sum("element" in line for line in lines) == 3 * 512, "512 elements each")

    # Every strategy, a picture.
    done = run(example, "--picture", picture)
    for name in ("none", "greedy", "refine", "comm_refine", "diffusion", "hierarchical", "rcb", "sfc"):
        found = rows(done.stdout, name)
        expect(len(found) == 4, f"{name}: three steps and all of them, in\n{done.stdout}")
        expect(all(float(r[1]) <= float(r[3]) for r in found), f"{name} made it worse:\n{done.stdout}")
        expect(name == "none" or all(float(r[3]) > 90 for r in found), f"{name} did not even out:\n{done.stdout}")
    drawn = xml.dom.minidom.parse(picture).getElementsByTagName("path")
    expect(len(drawn) >= 8 * 6, f"the picture has {len(drawn)} shapes")

    # Some, each step from the strategy's own last one: little is left to do then.
    apart = rows(run(example, "--strategy", "refine", "--strategy", "rcb").stdout, "refine")
    done = run(example, "--strategy", "refine", "--follow")
    followed = rows(done.stdout, "refine")
    expect(len(followed) == 4 and not rows(done.stdout, "greedy"), done.stdout)
    expect(followed[0][1:5] == apart[0][1:5], "the first step begins with what was recorded")

    # What is wrong.
    expect("there is no balancing strategy 'gredy'" in run(example, "--strategy", "gredy", code=2).stderr, "gredy")
    expect("--example" in run(code=2).stderr, "neither file nor example")
    expect("cannot be read" in run(os.path.join(here, "absent"), code=2).stderr, "absent")
    expect("cannot write" in run(example, "--strategy", "none", "--picture", here, code=2).stderr, "a folder as picture")
    broken = os.path.join(here, "broken.jsonl")
    with open(broken, "w") as f:
        f.write("\n".join(json.dumps(line) for line in lines[:20]))
    expect(f"{broken}:20: the file ends" in run(broken, code=2).stderr, "a file that ends early")
    with open(broken, "w") as f:
        for line in lines[:len(lines) // 3]:
            line.pop("place", None)
            line.pop("dimensions", None)
            f.write(json.dumps(line) + "\n")
    done = run(broken, "--strategy", "rcb", "--strategy", "refine", "--picture", picture)
    expect("have no places" in done.stdout and rows(done.stdout, "refine"), done.stdout)
    xml.dom.minidom.parse(picture)

print("\n".join(FAILURES) or "imbrex balance-replay: all as expected")
sys.exit(1 if FAILURES else 0)

#!/usr/bin/env python3
"""imbrex tune measures and stores; jobs on any rank go by what is stored.

  tune_test.py TRANSPORT --bin FOLDER --mpirun COMMAND...
"""
import json
import os
import platform
import subprocess
import sys
import tempfile

FAILURES = []
transport = sys.argv[1]
folder = sys.argv[sys.argv.index("--bin") + 1]
mpirun = sys.argv[sys.argv.index("--mpirun") + 1:]
tool = os.path.join(folder, "imbrex")


def run(words, code=0, env=None):
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, env={**os.environ, **(env or {})})
    if done.returncode != code:
        FAILURES.append(f"{' '.join(words)}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


def ranks(n, program, *words):
    return [*mpirun, "-n", str(n), os.path.join(folder, program), *words, f"--imbrex-transport={transport}"]


def expect(condition, text):
    if not condition:
        FAILURES.append(text)


def job(*words, env=None):
    """What messages a job packs, and its warnings."""
    done = run(ranks(2, "protocols_job", "--imbrex-pes=1", *words), env=env)
    return done.stdout.strip(), [line for line in done.stderr.splitlines() if "warning" in line]


def expect_job(says, *words, env=None, num_warnings=0):
    said, warnings = job(*words, env=env)
    expect(said == says, f"job {words} said '{said}', expected '{says}'")
    expect(len(warnings) == num_warnings, f"job {words}: {num_warnings} warnings expected, there are {warnings}")
    return warnings


def store(path, content):
    with open(path, "w") as f:
        f.write(content if isinstance(content, str) else json.dumps(content))


BUILT_IN = "packed_host_bytes 4096 apart 2"

with tempfile.TemporaryDirectory() as here:
    path = os.path.join(here, "new", "protocols.json")
    other = {"elsewhere": {transport: {"host_memory": {"packed_host_bytes": 77}}}}
    os.mkdir(os.path.dirname(path))
    store(path, {"format": 1, "machines": other})

    done = run(ranks(2, "imbrex", "tune", "--quick", "--output", path))
    expect("host memory, one way in us" in done.stdout and "packed_host_bytes" in done.stdout, done.stdout)
    expect("not measured: device memory:" in done.stdout or "device memory, one way in us" in done.stdout, done.stdout)
    with open(path) as f:
        stored = json.load(f)
    expect(stored["machines"]["elsewhere"] == other["elsewhere"], f"the other machine's entry changed: {stored}")
    entry = stored["machines"][platform.node()][transport]["host_memory"]
    expect(set(entry) >= {"measured", "imbrex", "library", "between", "packed_host_bytes"}, str(entry))
    expect(os.listdir(os.path.dirname(path)) == ["protocols.json"], "something lies beside the file")

    measured = entry["packed_host_bytes"]
    apart = sum(size > measured for size in (64, 1024, 16384, 65536))
    expect_job(f"packed_host_bytes {measured} apart {apart}", "--imbrex-protocols", path)
    entry["packed_host_bytes"] = 100  # as a person would, by hand
    store(path, stored)
    expect_job("packed_host_bytes 100 apart 3", "--imbrex-protocols", path)
    entry["packed_host_bytes"] = 1 << 20
    store(path, stored)
    expect_job("packed_host_bytes 1048576 apart 0", "--imbrex-protocols", path)
    info = json.loads(run([tool, "info", "--json", "--imbrex-protocols", path]).stdout)["protocols"][transport]
    expect("packed_host_bytes 1048576" in info["sizes"] and path in info["source"], str(info))
    log = run(ranks(2, "protocols_job", "--imbrex-pes=1", "--imbrex-log=debug", "--imbrex-protocols", path)).stderr
    expect(log.count("protocols: packed_host_bytes 1048576") == 1, f"the table in force is not logged once:\n{log}")

    # The user's own file; none; a way that is asked for.
    env = {"XDG_CONFIG_HOME": here}
    expect_job(BUILT_IN, env=env)
    os.rename(os.path.dirname(path), os.path.join(here, "imbrex"))
    path = os.path.join(here, "imbrex", "protocols.json")
    expect_job("packed_host_bytes 1048576 apart 0", env=env)
    expect_job(BUILT_IN, "--imbrex-protocols=none", env=env)
    expect_job("packed_host_bytes 1048576 apart 4", "--imbrex-protocol=direct", env=env)

    # What cannot be used.
    entry["packed_host_bytes"] = -5
    store(path, stored)
    for warning in expect_job(BUILT_IN, env=env, num_warnings=1):
        expect("packed_host_bytes is -5" in warning, warning)
    store(path, '{"format": 1, "machi')
    for warning in expect_job(BUILT_IN, env=env, num_warnings=1):
        expect(path in warning and "not JSON" in warning, warning)
    done = run(ranks(2, "imbrex", "tune", "--quick"), code=2, env=env)
    expect(path in done.stderr and "repair or remove it" in done.stderr, done.stderr)
    with open(path) as f:
        expect(f.read() == '{"format": 1, "machi', "tune changed a file that it could not read")
    expect_job(BUILT_IN, "--imbrex-protocols", os.path.join(here, "absent.json"), num_warnings=1)

    done = run(ranks(2, "imbrex", "tune", "--quick", "--output", os.path.join(here, "slip", "t.json")), code=2)
    expect("there is no folder" in done.stderr and not done.stdout, done.stderr)
    expect(not os.path.exists(os.path.join(here, "slip")), "tune made a folder that nobody has asked for")

    # Not two ranks.
    done = run([tool, "tune", "--output", path], code=2)
    expect("mpirun -n 2 imbrex tune" in done.stderr, done.stderr)
    done = run(ranks(3, "imbrex", "tune", "--output", path), code=2)
    expect("there are 3" in done.stderr, done.stderr)

print("\n".join(FAILURES) or f"imbrex tune over {transport}: all as expected")
sys.exit(1 if FAILURES else 0)

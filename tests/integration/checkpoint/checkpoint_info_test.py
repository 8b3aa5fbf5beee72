#!/usr/bin/env python3
"""imbrex checkpoint-info lists checkpoints and says which are whole.

  checkpoint_info_test.py --tool imbrex --writer checkpoint_files
"""
import json
import os
import subprocess
import sys
import tempfile

FAILURES = []
tool = sys.argv[sys.argv.index("--tool") + 1]
writer = sys.argv[sys.argv.index("--writer") + 1]


def expect(condition, text):
    if not condition:
        FAILURES.append(text)


def info(*words, code=0):
    done = subprocess.run([tool, "checkpoint-info", *words], capture_output=True, text=True, timeout=100)
    expect(done.returncode == code, f"{words}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


def says(done, *texts):
    for text in texts:
        expect(text in done.stdout + done.stderr, f"{done.args} does not say '{text}':\n{done.stdout}{done.stderr}")


with tempfile.TemporaryDirectory() as here:
    os.chdir(here)
    written = subprocess.run([writer, "checkpoints", "3"], capture_output=True, text=True, timeout=100)
    if written.returncode == 77:
        print(written.stdout.strip())
        sys.exit(77)
    expect(written.returncode == 0, written.stderr)

    says(info("checkpoints"), "checkpoints/000003", "checkpoints/000001", "a label", "element", "117.2 KiB",
         "0000000000000abc", "restart from checkpoints/000003")
    one = json.loads(info("checkpoints/000002/", "--json", "--verify").stdout)["checkpoints"]
    expect(len(one) == 1 and one[0]["whole"] and one[0]["step"] == 200 and one[0]["ranks"] == 3, f"it says {one}")
    expect(one[0]["kinds"][0] == {"name": "element", "records": 12, "payload_bytes": 120000}, f"it says {one}")

    with open("checkpoints/000003/rank_000001", "r+b") as f:
        f.seek(500)
        f.write(b"?")
    says(info("checkpoints"), "restart from checkpoints/000003")
    says(info("checkpoints", "--verify"), "rank_000001 is damaged in the record of kind 0",
         "restart from checkpoints/000002")
    says(info("checkpoints/000003", "--verify", code=1), "none is whole")
    # A job that ends in vain is started again from one that is undamaged.
    job = [tool, "run", "--restart-on-failure", "--checkpoint", "checkpoints", "--", "sh", "-c", 'echo "with $@"; exit 1']
    tried = subprocess.run(job, capture_output=True, text=True, timeout=100)
    expect(tried.stdout.split("with ")[1:] == ["--imbrex-restart=auto\n"] + 2 * ["--imbrex-restart=checkpoints/000002\n"],
           f"run: {tried.stdout}")
    says(tried, "goes on from checkpoints/000003", "passed over: checkpoints/000003/rank_000001 is damaged",
         "goes on from checkpoints/000002")
    os.truncate("checkpoints/000002/rank_000000", 1000)
    says(info("checkpoints/000002", code=1), "has 1000 bytes where")

    os.mkdir("empty")
    says(info("empty", code=1), "imbrex: empty is empty: there is no checkpoint in it")
    for folder in ("empty", "nowhere"):
        nothing = json.loads(info(folder, "--json", code=1).stdout)
        expect(nothing == {"newest_whole": None, "checkpoints": []}, f"of {folder} it says {nothing}")
    says(info("", code=2), "imbrex: FOLDER is empty: give a folder")
    says(info("nowhere", code=1), "imbrex: nowhere is not there")
    says(info("checkpoints/000001/manifest", code=1), "is not a folder: name the folder of a checkpoint")
    says(info(code=2), "imbrex: FOLDER is required; see imbrex --help")
    says(info("--help"), "--verify", "Exit code 0")

for failure in FAILURES:
    print(failure)
sys.exit(1 if FAILURES else 0)

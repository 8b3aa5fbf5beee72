#!/usr/bin/env python3
"""A rank that ends or stops in the middle of a job: the others end with an error that names it, in bounded time.

  lost_rank_test.py vanish|freeze --job JOB_TEST --mpirun COMMAND...
  lost_rank_test.py kernel|driver|borrow|gate --job LOST_GPU_JOB --mpirun COMMAND...
"""
import subprocess
import sys
import time

NUM_RANKS = 3
HEARTBEAT_S = 2
LIMIT_S = 40

program = sys.argv[1]
job = sys.argv[sys.argv.index("--job") + 1]
mpirun = sys.argv[sys.argv.index("--mpirun") + 1:]
# Open MPI would end the job by itself as soon as a rank ends without having finalised.
words = [*mpirun, "--mca", "orte_allowed_exit_without_sync", "1", "-n", str(NUM_RANKS), job, program, "--imbrex-pes=1",
         "--imbrex-transport=ucx", f"--imbrex-heartbeat-s={HEARTBEAT_S}"]
version = subprocess.run([mpirun[0], "--version"], capture_output=True, text=True)
if "Open MPI" not in version.stdout and "OpenRTE" not in version.stdout:
    print("skipped: only Open MPI lets a job go on when a rank is lost")
    sys.exit(77)
begin = time.monotonic()
try:
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
except subprocess.TimeoutExpired as late:
    print(f"{' '.join(words)}: still there after {LIMIT_S} s\n{late.stdout}\n{late.stderr}")
    sys.exit(1)
if done.returncode == 77:
    print(done.stdout)
    sys.exit(77)
took = time.monotonic() - begin
reports = [line for line in done.stderr.splitlines() if line.startswith("imbrex [rank")]
print("\n".join(reports), f"\nexit {done.returncode} after {took:.1f} s")
named = [line for line in reports if f"rank {NUM_RANKS - 1}" in line.split("error:", 1)[1]]
if done.returncode != 70 or not named:
    print(f"exit {done.returncode}, expected 70, and {len(named)} reports name rank {NUM_RANKS - 1}:\n{done.stdout}{done.stderr}")
    sys.exit(1)

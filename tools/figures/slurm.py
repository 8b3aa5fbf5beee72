"""A batch script that measures figures on a cluster's node, and goes on where the last one stopped."""

import shlex


def script(names, output, gpus, quick, tool):
    words = [tool, "figures", *names, "--output", output, *(["--quick"] if quick else []), *(["--gpus", str(gpus)] if gpus is not None else [])]
    return f"""#!/bin/bash
#SBATCH --job-name=imbrex-figures
#SBATCH --nodes=1
#SBATCH --exclusive
#SBATCH --time=02:00:00
{f'#SBATCH --gpus-per-node={gpus}' if gpus else '# a GPU job: #SBATCH --gpus-per-node=4'}
#SBATCH --signal=TERM@60
# What has been measured is kept after each run: submit it again to go on.
set -e
{shlex.join(words)}
"""

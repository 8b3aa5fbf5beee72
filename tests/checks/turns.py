"""What a check of single files looks at where looking at all takes minutes: what changed of late, and a part of the
rest that is another one with each commit, so that all take their turns."""

import subprocess


def add_arguments(parser):
    parser.add_argument("--recent", type=int, metavar="COMMITS", help="only what these changed, and the part of --part")
    parser.add_argument("--part", type=int, metavar="N", default=0, help="with --recent: every N-th of the others, too")
    parser.add_argument("--most", type=int, metavar="N", default=0, help="with --recent: no more than N that changed, the latest")


def _git(root, *words):
    return subprocess.run(["git", "-c", f"safe.directory={root}", "-C", str(root), *words],
                          capture_output=True, text=True)


def _changed_of_late(root, commits):
    """Names of what the last so many commits changed, and of the sources of changed headers, the latest first; None
    without a history."""
    listed = _git(root, "log", f"-{commits}", "--format=", "--name-only")
    if listed.returncode != 0:
        return None
    names = {}  # in order
    for name in listed.stdout.split("\n"):
        names[name] = True
        if name.endswith(".h"):
            names[name[:-2] + ".cc"] = True
    return names.keys()


def _part_of_commit(root, num_parts):
    """Which of so many parts is this commit's turn."""
    counted = _git(root, "rev-list", "--count", "HEAD")
    return int(counted.stdout) % num_parts if counted.returncode == 0 else 0


def _is_changed(name, changed):
    return name in changed


def _latest(names, changed, most, concerns):
    """The first of `changed`, as many as concern no more than so many of `names`."""
    kept = {}
    for one in changed:
        kept[one] = True
        if sum(concerns(name, kept.keys()) for name in names) > most:
            del kept[one]
            break
    return kept.keys()


def chosen(root, names, arguments, concerns=_is_changed):
    """Those of `names`, paths in the tree, that the arguments ask for. concerns(name, changed paths): whether changes
    are of a name, where names are not paths."""
    changed = _changed_of_late(root, arguments.recent) if arguments.recent else None
    if changed is None:
        return list(names)
    if arguments.most:
        changed = _latest(names, changed, arguments.most, concerns)
    turn = _part_of_commit(root, arguments.part) if arguments.part else None
    return [name for i, name in enumerate(names)
            if concerns(name, changed) or (turn is not None and i % arguments.part == turn)]


def no_more_than(root, names, weight, most):
    """As many of `names`, and one at least, as have that weight together; which of them come first is another thing with
    each commit."""
    begin = _part_of_commit(root, len(names)) if names else 0
    taken, total = [], 0
    for name in [*names[begin:], *names[:begin]]:
        if not taken or total + weight(name) <= most:
            taken.append(name)
            total += weight(name)
    return sorted(taken)

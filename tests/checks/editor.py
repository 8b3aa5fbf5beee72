""".vscode/tasks.json and launch.json are JSON, and name presets, targets of make, scripts and build folders that there are."""

import argparse
import json
import pathlib
import re
import sys

import source_files


def complaints_of(tasks, launch, presets, make_targets, scripts):
    """`tasks`, `launch`: texts; `presets`: of CMakePresets.json, the visible ones."""
    found, read = [], {}
    for name, text in (("tasks.json", tasks), ("launch.json", launch)):
        try:
            read[name] = json.loads(text)
        except ValueError as e:
            found.append(f".vscode/{name}: no JSON: {e}")
    for name, whole in read.items():
        inputs = {i["id"]: i for i in whole.get("inputs", [])}
        text = json.dumps(whole)
        found += [f".vscode/{name}: nothing is known of the input {used}" for used in re.findall(r"\$\{input:(\w+)\}", text) if used not in inputs]
        named = inputs.get("preset", {}).get("options", []) + re.findall(r"--preset (\w+)", text) + re.findall(r"/build/(\w+)/", text)
        found += [f".vscode/{name}: there is no preset {preset}" for preset in named if preset not in presets]
        found += [f".vscode/{name}: there is no 'make {target}'" for target in re.findall(r"\bmake ([\w-]+)", text) if target not in make_targets]
        found += [f".vscode/{name}: there is no {script}" for script in re.findall(r"\bscripts/[\w-]+", text) if script not in scripts]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    root = parser.parse_args().root
    presets = {p["name"] for p in json.loads((root / "CMakePresets.json").read_text())["configurePresets"] if not p.get("hidden")}
    targets = set(re.findall(r"^([\w-]+):", (root / "Makefile").read_text(), re.MULTILINE))
    scripts = {name for name in source_files.project_files(root) if name.startswith("scripts/")}
    return source_files.finish("editor", complaints_of((root / ".vscode/tasks.json").read_text(), (root / ".vscode/launch.json").read_text(),
                                                       presets, targets, scripts))


if __name__ == "__main__":
    sys.exit(main())

"""share/packages: recipes have the project's version, and name options of CMake that there are.

Arguments: the root of the sources, and the cache of the build. Recipes in Python are compiled, those in YAML are read where
PyYAML is here, and shell scripts are parsed.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import unittest

HERE = argparse.Namespace()
OPTION = re.compile(r"(?:\b|-D)(IMBREX_(?:WITH|BUILD)_[A-Z0-9]+|BUILD_SHARED_LIBS)\b")


def recipes():
    found = [p for p in (HERE.root / "share" / "packages").rglob("*") if p.is_file() and p.suffix != ".pyc"]
    assert len(found) > 15, found
    return found


def text(name):
    return (HERE.root / "share" / "packages" / name).read_text()


def project_version():
    return re.search(r"project\(imbrex\s+VERSION (\d+\.\d+\.\d+)", (HERE.root / "CMakeLists.txt").read_text()).group(1)


class versions(unittest.TestCase):
    def the_one(self, name, pattern, expected):
        found = re.findall(pattern, text(name), re.M)
        self.assertTrue(found, f"{name} says no version: {pattern}")
        self.assertEqual(set(found), {expected}, name)

    def test_recipes_have_the_version_of_the_project(self):
        version = project_version()
        self.the_one("spack/packages/imbrex/package.py", r'^    version\("([^"]+)"', version)
        self.the_one("spack/packages/imbrex/package.py", r"imbrex-([0-9.]+)\.tar\.gz", version)
        self.the_one("conda/recipe.yaml", r"^  version: ([0-9.]+)$", version)
        self.the_one("debian/changelog", r"^imbrex \(([0-9.]+)-\d+\)", version)
        names = [p.name for p in recipes() if p.suffix == ".eb"]
        self.assertEqual(len(names), 2)
        for name in names:
            self.assertTrue(name.startswith(f"imbrex-{version}-foss-"), name)
            self.the_one(f"easybuild/{name}", r"^version = '([^']+)'", version)

    def test_packages_of_debian_are_named_by_the_interface(self):
        interface = ".".join(project_version().split(".")[:2])
        packages = re.findall(r"^Package: (libimbrex\S*)", text("debian/control"), re.M)
        self.assertEqual(sorted(packages), sorted([f"libimbrex{interface}", f"libimbrex-fields{interface}", "libimbrex-dev"]))
        for package in packages:
            self.assertTrue((HERE.root / "share/packages/debian" / f"{package}.install").exists(), package)


class options(unittest.TestCase):
    def test_options_are_options_of_cmake(self):
        known = set(re.findall(r"^(\w+):(?!INTERNAL)\w+=", HERE.cache.read_text(), re.M))
        named = {option for p in recipes() for option in OPTION.findall(p.read_text())}
        # The recipe of Spack puts names together.
        for features in re.findall(r"for variant in \(([^)]*)\)", text("spack/packages/imbrex/package.py")):
            named |= {f"IMBREX_WITH_{f.upper()}" for f in re.findall(r'"(\w+)"', features)}
        self.assertGreater(len(named), 12)
        self.assertEqual(named - known, set())

    def test_every_optional_library_is_chosen_by_every_recipe(self):
        """A build that takes what a machine happens to have is no package."""
        features = set(re.findall(r"^(IMBREX_WITH_\w+):", HERE.cache.read_text(), re.M))
        spack = text("spack/packages/imbrex/package.py")
        in_spack = set(OPTION.findall(spack)) | {
            f"IMBREX_WITH_{f.upper()}" for names in re.findall(r"for variant in \(([^)]*)\)", spack) for f in re.findall(r'"(\w+)"', names)}
        self.assertEqual(features - in_spack, set(), "spack")
        for name in ("conda/recipe.yaml", "debian/rules", *(f"easybuild/{p.name}" for p in recipes() if p.suffix == ".eb")):
            self.assertEqual(features - set(OPTION.findall(text(name))), set(), name)


class forms(unittest.TestCase):
    def test_python(self):
        for p in recipes():
            if p.suffix in (".py", ".eb"):
                compile(p.read_text(), str(p), "exec")

    def test_yaml(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("PyYAML is not here: apt install python3-yaml")
        for name in ("spack/repo.yaml", "conda/recipe.yaml", "conda/variants.yaml"):
            self.assertIsInstance(yaml.safe_load(text(name)), dict, name)

    def test_shell(self):
        for name in ("share/packages/build-debian", "share/packages/debian/tests/consumer", "scripts/source-archive"):
            subprocess.run(["bash", "-n", HERE.root / name], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    HERE, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])

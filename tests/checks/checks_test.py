"""The checks find what they are for."""

import argparse
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import doc_comments
import environment
import editor
import enum_width
import error_pages
import header_weight
import layers
import names
import papers
import public_headers
import source_files
import turns
import unit_programs


class layers_test(unittest.TestCase):
    def reasons(self, name, text):
        return layers.complaints_of(name, text)

    def test_downwards_and_sideways(self):
        self.assertEqual(self.reasons("src/imbrex/comm/a.cc", "#include <imbrex/device/buffer.h>\n"), [])
        self.assertEqual(self.reasons("src/imbrex/comm/a.cc", '#include "imbrex/comm/b.h"\n'), [])
        self.assertEqual(len(self.reasons("src/imbrex/comm/a.cc", "#include <imbrex/object/entry/entry.h>\n")), 1)
        self.assertEqual(len(self.reasons("src/imbrex/comm/a.cc", "  # include <imbrex/hetero/task.h>\n")), 1)
        self.assertEqual(len(self.reasons("src/imbrex/hetero/a.h", "#include <imbrex/comm/channel.h>\n")), 1)

    def test_rooms(self):
        self.assertEqual(self.reasons("src/imbrex/device/cuda/a.cc", "#include <imbrex/device/pool/b.h>\n"), [])
        self.assertEqual(self.reasons("src/imbrex/object/a.cc", "#include <imbrex/object/entry/b.h>\n"), [])
        self.assertEqual(len(self.reasons("src/imbrex/device/a.cc", "#include <imbrex/device/cuda/b.h>\n")), 1)
        self.assertEqual(len(self.reasons("src/imbrex/device/cuda/a.cc", "#include <imbrex/device/opencl/b.h>\n")), 1)
        self.assertEqual(len(self.reasons("src/imbrex/object/entry/a.cc", "#include <imbrex/object/b.h>\n")), 1)
        self.assertEqual(len(self.reasons("src/imbrex/device/attic/a.cc", "#include <imbrex/device/b.h>\n")), 1)
        self.assertEqual(len(self.reasons("src/imbrex/comm/a.cc", "#include <imbrex/device/attic/b.h>\n")), 1)

    def test_rooms_of_sessions(self):
        self.assertEqual(self.reasons("sessions/src/driver/a.cc", '#include "base/b.h"\n'), [])
        self.assertEqual(len(self.reasons("sessions/src/driver/a.cc", '#include "staging/b.h"\n')), 1)
        self.assertEqual(len(self.reasons("sessions/src/attic/a.cc", '#include "base/b.h"\n')), 1)

    def test_crowded_folders(self):
        self.assertEqual(layers.crowded([f"src/imbrex/base/a{i}.h" for i in range(30)]), [])
        self.assertEqual(len(layers.crowded([f"src/imbrex/base/a{i}.h" for i in range(31)])), 1)
        self.assertEqual(len(layers.crowded([f"tests/unit/object/a{i}_test.cc" for i in range(31)])), 1)

    def test_line_is_named(self):
        found = self.reasons("src/imbrex/base/a.h", "#pragma once\n\n#include <imbrex/async/task.h>\n")
        self.assertTrue(found[0].startswith("src/imbrex/base/a.h:3:"), found)

    def test_unknown_layer_and_door(self):
        self.assertEqual(len(self.reasons("src/imbrex/extra/a.h", "#include <imbrex/base/error.h>\n")), 1)
        self.assertEqual(len(self.reasons("src/imbrex/object/a.h", "#include <imbrex/imbrex.h>\n")), 1)
        self.assertEqual(self.reasons("src/imbrex/imbrex.h", "#include <imbrex/runtime/runtime.h>\n"), [])

    def test_users(self):
        self.assertEqual(self.reasons("apps/x/a.cc", '#include <imbrex/imbrex.h>\n#include "kernel.h"\n'), [])
        self.assertEqual(len(self.reasons("examples/a.cc", '#include "../src/imbrex/imbrex.h"\n')), 1)

    def test_private_and_cuda_headers(self):
        self.assertEqual(len(self.reasons("src/imbrex/base/log.h", "#include <spdlog/spdlog.h>\n")), 1)
        self.assertEqual(self.reasons("src/imbrex/base/log.cc", "#include <spdlog/spdlog.h>\n"), [])
        self.assertEqual(len(self.reasons("src/imbrex/device/stream.cc", "#include <cuda_runtime.h>\n")), 1)
        self.assertEqual(self.reasons("src/imbrex/device/cuda/cuda_device.cc", "#include <cuda_runtime.h>\n"), [])
        self.assertEqual(self.reasons("apps/x/kernel.cu", "#include <cuda_runtime.h>\n"), [])


class turns_test(unittest.TestCase):
    def test_all_take_their_turns(self):
        arguments = argparse.Namespace(recent=3, part=4, most=0)
        listed = [f"f{i}" for i in range(10)]
        with unittest.mock.patch.object(turns, "_changed_of_late", return_value={"f5": True}.keys()):
            seen = set()
            for turn in range(4):
                with unittest.mock.patch.object(turns, "_part_of_commit", return_value=turn):
                    picked = turns.chosen(".", listed, arguments)
                self.assertIn("f5", picked)
                self.assertLess(len(picked), 5)
                seen.update(picked)
        self.assertEqual(seen, set(listed))

    def test_without_a_history_all_are_looked_at(self):
        with unittest.mock.patch.object(turns, "_changed_of_late", return_value=None):
            self.assertEqual(turns.chosen(".", ["a", "b"], argparse.Namespace(recent=3, part=4, most=0)), ["a", "b"])

    def test_no_more_than_so_many_of_the_latest(self):
        arguments = argparse.Namespace(recent=3, part=0, most=2)
        changed = dict.fromkeys(["other", "f5", "f2", "f7"]).keys()
        with unittest.mock.patch.object(turns, "_changed_of_late", return_value=changed):
            self.assertEqual(turns.chosen(".", [f"f{i}" for i in range(10)], arguments), ["f2", "f5"])

    def test_no_more_than_a_weight_and_all_in_turn(self):
        weights = {"a": 5, "b": 20, "c": 4, "d": 3}
        seen = set()
        for turn in range(4):
            with unittest.mock.patch.object(turns, "_part_of_commit", return_value=turn):
                taken = turns.no_more_than(".", sorted(weights), weights.get, 9)
            self.assertTrue(len(taken) == 1 or sum(weights[name] for name in taken) <= 9)
            seen |= set(taken)
        self.assertEqual(seen, set(weights))
        self.assertEqual(turns.no_more_than(".", [], weights.get, 9), [])


class unit_programs_test(unittest.TestCase):
    def test_what_concerns_a_program(self):
        with tempfile.TemporaryDirectory() as here:
            folder = pathlib.Path(here, "tests/unit/fake_gpu/room")
            folder.mkdir(parents=True)
            (folder / "a_test.cc").write_text("#include \"imbrex/device/cuda/cuda_stream.h\"\n#include <imbrex/imbrex.h>\n")
            concerned = lambda name: unit_programs.concerned(pathlib.Path(here), "fake_gpu", {name})
            self.assertTrue(concerned("tests/unit/fake_gpu/room/a_test.cc"))
            self.assertTrue(concerned("src/imbrex/device/cuda/cuda_stream.h"))
            self.assertTrue(concerned("src/imbrex/device/cuda/cuda_stream.cc"))
            self.assertFalse(concerned("src/imbrex/device/cuda/cuda_copy.cc"))
            self.assertTrue(unit_programs.concerned(pathlib.Path(here), "object", {"src/imbrex/object/location.cc"}))

    def test_those_of_a_label(self):
        with tempfile.TemporaryDirectory() as here:
            listed = pathlib.Path(here, "tests/unit/programs.txt")
            listed.parent.mkdir(parents=True)
            listed.write_text("object unit;threads\nuts unit\n")
            self.assertEqual(unit_programs.present(pathlib.Path(here), "threads"), ["object"])
            self.assertEqual(unit_programs.present(pathlib.Path(here), None), ["object", "uts"])


class names_test(unittest.TestCase):
    def test_file_names(self):
        self.assertIsNone(names.name_complaint("src/imbrex/object/location.h"))
        self.assertIsNone(names.name_complaint("docs/commonplace.md"))
        self.assertIsNotNone(names.name_complaint("src/imbrex/base/string_" + "utils.h"))

    def test_text(self):
        self.assertEqual(names.text_complaints("a", "see docs/work/x and ${dir}/work/y"), [])
        self.assertEqual(len(names.text_complaints("a", "see /" + "work/x")), 1)
        self.assertEqual(len(names.text_complaints("a", "// TO" + "DO later")), 1)

    def test_namespaces_of_unit_tests(self):
        inside = "#include <a>\n\nnamespace %s {\n"
        self.assertIsNone(names.namespace_complaint("tests/unit/pe/a_test.cc", inside % "a_test"))
        self.assertIsNone(names.namespace_complaint("tests/unit/pe/a_test.cc", inside % "pe_a_test"))
        self.assertIsNone(names.namespace_complaint("tests/integration/a_test.cc", ""))
        self.assertIsNotNone(names.namespace_complaint("tests/unit/pe/a_test.cc", inside % ""))


class enum_width_test(unittest.TestCase):
    def lines(self, text, name="src/imbrex/base/a.h"):
        return [int(found.split(":")[1]) for found in enum_width.complaints_of(name, text)]

    def test_narrow_scoped_enumerations(self):
        self.assertEqual(self.lines("enum class a : std::uint8_t { x };\nenum class b : bool { y };\n"), [1, 2])
        self.assertEqual(self.lines("\n  enum class a\n      : unsigned char {\n"), [2])
        self.assertEqual(self.lines("enum struct a : std::int16_t;\nenum class b : unsigned short int { x };\n"), [1, 2])

    def test_others(self):
        self.assertEqual(self.lines("enum class a { x };\nenum class b : std::uint32_t { y };\nenum c : bool { z };\n"), [])
        self.assertEqual(self.lines("enum class a : std::uint8_t { x };\n", "src/imbrex/base/a.cc"), [])
        self.assertEqual(self.lines("struct s { state now : 8 = state::first; };\n"), [])

    def test_bytes_by_value(self):
        self.assertEqual(self.lines("void f(std::byte value);\n"), [1])
        self.assertEqual(self.lines("void f(const std::byte* from, std::byte& to);\nstd::byte first() const;\n"), [])


class header_weight_test(unittest.TestCase):
    def test_what_the_door_reaches(self):
        files = {
            "src/imbrex/imbrex.h": '#include "imbrex/base/a.h"\n',
            "src/imbrex/base/a.h": '#include <string>\n#include <chrono>\n#include "imbrex/base/a.h"\n',
            "src/imbrex/base/unreached.h": "#include <iostream>\n",
        }
        found = header_weight.complaints_of(files.get)
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("src/imbrex/base/a.h:2: includes <chrono>"), found)


class doc_comments_test(unittest.TestCase):
    def declared(self, kind, name, doc="", group=""):
        return doc_comments.declarations.Declaration(kind, name, "imbrex/a.h", 3, 3, "", doc, group)

    def test_what_has_none(self):
        found = [self.declared("class", "told", "What it is."), self.declared("function", "grouped", group="Order"),
                 self.declared("class", "silent"), self.declared("function", "f"), self.declared("class", "told::inner"),
                 self.declared("variable", "v")]
        self.assertEqual([c.split(": ")[1].split(" has")[0] for c in doc_comments.without_comment(found, {"imbrex/a.h"})],
                         ["class silent", "function f"])
        self.assertEqual(doc_comments.without_comment(found, {"imbrex/b.h"}), [])

    def test_a_comment_holds_until_an_empty_line(self):
        lines = ["/// What.", "int f();", "int g();", "", "int h();"]
        found = [self.declared("function", name) for name in "fgh"]
        for d, line in zip(found, (2, 3, 5)):
            d.line = d.end = line
        found[0].doc = "What."
        doc_comments.declarations.share_docs(found, lines)
        self.assertEqual([d.doc for d in found], ["What.", "What.", ""])

    def test_names_of_documents(self):
        hidden, told = self.declared("class", "hidden"), self.declared("class", "chare")
        told.header = "imbrex/object/chare.h"
        self.assertEqual(len(doc_comments.unknown_names({"README.md": "ix::hidden ix::chare ix::map"}, [hidden, told])), 1)


class editor_test(unittest.TestCase):
    def complaints(self, command):
        return editor.complaints_of(f'{{"tasks": [{{"command": "{command}"}}]}}', "{}", {"default"}, {"run"}, {"scripts/setup"})

    def test_what_there_is_and_is_not(self):
        self.assertEqual(self.complaints("cmake --preset default && make run && scripts/setup"), [])
        for wrong in ("cmake --preset fast", "make coffee", "scripts/gone", "${input:nothing}", '"'):
            self.assertEqual(len(self.complaints(wrong)), 1, wrong)


class papers_test(unittest.TestCase):
    def test_rows_name_what_is_there(self):
        files = ["src/imbrex/object/proxy.h", "examples/a.hk", "scripts/bench"]
        row = "| II-A calls | `object/proxy.h`, `a.hk`, `imbrex/object/` | `scripts/bench` |\n"
        self.assertEqual(papers.complaints_of("| section | here | see it |\n|---|---|---|\n" + row, files), [])
        self.assertEqual(len(papers.complaints_of(row.replace("proxy.h", "gone.h"), files)), 1)
        self.assertEqual(len(papers.complaints_of("| II-A calls | `object/proxy.h` | |\n", files)), 1)


class environment_test(unittest.TestCase):
    def complaints(self, page, **texts):
        return environment.complaints_of(page, {name.replace("_", "/", 1) + ".cc": text for name, text in texts.items()})

    def test_listed_and_not(self):
        source = 'std::getenv("SECRET"); getenv("IMBREX_SPIN_US"); {.name = "spin-us"}'
        self.assertEqual(len(self.complaints("", src_a=source)), 1)
        self.assertEqual(self.complaints("| `SECRET` | x | y |\n", src_a=source), [])
        self.assertEqual(len(self.complaints("| `SECRET` | x | y |\n| `GONE` | x | y |\n", src_a=source)), 1)

    def test_hidden_ones(self):
        self.assertEqual(len(self.complaints("", src_a="std::getenv(name)")), 1)
        listed = 'for (const char* n : {"A_B", "C_D"}) if (std::getenv(n)) return true;'
        self.assertEqual(len(self.complaints("", src_a=listed)), 2)


class error_pages_test(unittest.TestCase):
    SOURCE = ('class error : public std::runtime_error {\n};\n'
              'class lost : public error {\n const char* kind() const noexcept override { return "lost"; }\n};\n'
              'class torn : public lost {\n int exit_code() const noexcept override { return 3; }\n};\n'
              'inline constexpr int begin_again = (1 << 16) + 75;\n'
              'throw lost(fmt::format("{} is "\n "lost: find it", x));\n')
    PAGE = ("| 75 | a job | `begin_again`: again |\n## The family\n| `error` | `error` | 1 | base |\n| `lost` | `lost` | 1 | so |\n"
            "| `torn` | `lost` | 3 | so |\n\n## lost\n\n| message | what to do |\n|---|---|\n| `... is lost: find it` | look |\n")

    def complaints(self, page):
        return error_pages.complaints_of(page, [self.SOURCE], [])

    def test_all_is_there(self):
        self.assertEqual(self.complaints(self.PAGE), [])

    def test_what_is_missing(self):
        for line, reason in (("| 75", "exit code 75"), ("| `torn`", "no row `torn`"), ("## lost", "no section 'lost'")):
            page = "".join(text + "\n" for text in self.PAGE.splitlines() if not text.startswith(line))
            self.assertIn(reason, "".join(self.complaints(page)))
        self.assertIn("no source says", "".join(self.complaints(self.PAGE.replace("find it", "forget it"))))


class public_headers_test(unittest.TestCase):
    FILES = {
        "src/imbrex/imbrex.h": '#include "imbrex/base/a.h"\n',
        "src/imbrex/base/a.h": "#include <string>\n",
        "apps/one/main.cc": '#include <imbrex/imbrex.h>\n#include <imbrex/base/a.h>\n#include <imbrex/pe/hidden.h>\n',
        "apps/one/mpi/twin.cc": "#include <imbrex/pe/hidden.h>\n",
        "apps/one/kernel.cu": "#include <imbrex/cuda/told.h>\nimbrex::detail::trick();\n",
    }

    def test_what_others_cannot_know(self):
        files = [name for name in self.FILES if name.startswith("apps/")]
        found = public_headers.complaints_of(files, ["imbrex/imbrex.h"], "see <imbrex/cuda/told.h>", self.FILES.get)
        self.assertEqual([f.split(": ")[0] for f in found], ["apps/one/main.cc:3", "apps/one/kernel.cu:2"])


class includes_test(unittest.TestCase):
    def test_forms(self):
        found = source_files.includes('#include <a/b.h>\n// #include <no.h>\n#include "c.h"  // why\n')
        self.assertEqual(found, [(1, "a/b.h"), (3, "c.h")])


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False).result.wasSuccessful())

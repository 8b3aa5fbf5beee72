#include "imbrex/text_kernels.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "imbrex/base/error.h"
#include "imbrex/device/host/host_device.h"
#include "imbrex/device/kernel/kernel_dialect.h"
#include "imbrex/device/kernel/text/cpu_compiler.h"
#include "imbrex/device/kernel/text/kernel_declaration.h"
#include "unit/async/bare_pe.h"
#include "unit/kernel/kernel_cases.h"
#include "unit/kernel/text_cases.h"
// After the dialect.
#include "unit/kernel/matrix.hk"

namespace text_kernels_test {

using namespace imbrex;
using namespace imbrex_test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

/// Compiled kernels of these tests are kept apart from the user's.
class text_kernels_test : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "imbrex-text-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    setenv("XDG_CACHE_HOME", name.c_str(), 1);
    if (!detail::cpu_compiler::is_there()) GTEST_SKIP() << "no C++ compiler";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::vector<std::filesystem::path> kept() const {
    std::vector<std::filesystem::path> files;
    if (!std::filesystem::exists(folder / "imbrex" / "kernels")) return files;
    for (const auto& f : std::filesystem::directory_iterator(folder / "imbrex" / "kernels")) files.push_back(f.path());
    return files;
  }
  std::filesystem::path folder;
};

TEST_F(text_kernels_test, give_the_bits_of_those_that_were_built) {
  int num_cases = 0;
  for (const kernel_case& c : all_cases()) {
    if (c.kernel == static_cast<const kernel_source*>(&seven_points)) continue;  // below
    const std::vector<given> expected = run_case_on_cpu(c);
    kernel_case from_text = c;
    from_text.kernel = &text_of(*c.kernel).get(c.kernel->name);
    EXPECT_EQ(from_text.kernel->fixed_group, c.kernel->fixed_group);
    const std::vector<given> found = run_case_on_cpu(from_text);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(expected[i].bytes == found[i].bytes) << c.kernel->name;
    ++num_cases;
  }
  EXPECT_GT(num_cases, 20);
  EXPECT_EQ(kept().size(), 3);  // a file each
}

TEST_F(text_kernels_test, are_launched_with_types_that_are_checked) {
  const text_kernels all(
      "#define REAL float\nIX_KERNEL(axpy_of_text, (int n, REAL a, IX_GLOBAL const REAL* x, IX_GLOBAL REAL* y)) {\n"
      "  IX_ITEMS_BELOW(n) { y[IX_GLOBAL_ID(0)] += a * x[IX_GLOBAL_ID(0)]; }\n}");
  EXPECT_THAT(all.names(), ElementsAre("axpy_of_text"));
  EXPECT_THAT(all.parameters("axpy_of_text"), ElementsAre("n", "a", "x", "y"));
  EXPECT_THAT(all.types("axpy_of_text"), ElementsAre("int", "float", "float", "float"));
  const auto& axpy = all.get<void(int, float, const float*, float*)>("axpy_of_text");
  EXPECT_EQ(&axpy, (&all.get<void(int, float, const float*, float*)>("axpy_of_text")));
  bare_pe pe;
  host_memory memory;
  host_device host(pe.queue, 0, memory);
  auto s = host.make_stream(stream_priority::low, "text");
  std::vector<float> x(1000, 2), y(1000, 1);
  launch(*s, axpy, launch_shape::over(1000), 1000, 3.0F, x.data(), y.data());
  pe.run();
  EXPECT_THAT(y, testing::Each(7.0F));
  const auto as = [&]<class Signature>(Signature*) { static_cast<void>(all.get<Signature>("axpy_of_text")); };
  EXPECT_THAT([&] { as(static_cast<void (*)(int, float, const float*)>(nullptr)); },
              ThrowsMessage<usage_error>(HasSubstr("has 4 parameters in its text, and 3")));
  EXPECT_THAT([&] { as(static_cast<void (*)(int, double, const float*, float*)>(nullptr)); },
              ThrowsMessage<usage_error>(HasSubstr("parameter 2 of kernel 'axpy_of_text' is a value of 4 bytes")));
  EXPECT_THAT([&] { as(static_cast<void (*)(int, float, float*, float*)>(nullptr)); },
              ThrowsMessage<usage_error>(HasSubstr("parameter 3 of kernel 'axpy_of_text' is a pointer to const")));
}

TEST_F(text_kernels_test, take_structs_whose_size_a_type_says) {
  for (const kernel_case& c : all_cases()) {
    if (c.kernel != static_cast<const kernel_source*>(&seven_points)) continue;
    const text_kernels all = text_of(*c.kernel);
    EXPECT_THAT([&] { static_cast<void>(all.get("seven_points")); },
                ThrowsMessage<usage_error>(HasSubstr("parameter 1 of kernel 'seven_points' is a struct extents")));
    kernel_case from_text = c;
    from_text.kernel = &all.get<void(extents, const double*, double*)>("seven_points");
    const std::vector<given> expected = run_case_on_cpu(c), found = run_case_on_cpu(from_text);
    EXPECT_TRUE(expected.back().bytes == found.back().bytes);
  }
}

TEST_F(text_kernels_test, an_error_has_the_texts_name_and_line) {
  const text_kernels all(
      "IX_KERNEL(wrong_text, (int n, IX_GLOBAL int* x)) {\n  IX_ITEMS {\n    x[0] = nonsense;\n  }\n}",
      "my_kernels.txt");
  const kernel_source& k = all.get("wrong_text");
  int n = 1;
  int* x = &n;
  void* arguments[] = {&n, &x};
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT([&] { run_on_cpu(k, launch_shape::over(1), arguments, 0, 1); },
                ThrowsMessage<usage_error>(testing::AllOf(HasSubstr("my_kernels.txt:3:"), HasSubstr("nonsense"))));
  }
}

TEST_F(text_kernels_test, what_was_compiled_is_found_again_unless_it_is_broken) {
  const std::string text = "IX_KERNEL(kept_text, (IX_GLOBAL int* x)) { IX_ITEMS { x[0] = 7; } }";
  const auto by_another_process = [&] {
    detail::cpu_compiler::compile(text, "a", {"kept_text"});
    std::exit(0);
  };
  EXPECT_EXIT(by_another_process(), testing::ExitedWithCode(0), "");
  ASSERT_EQ(kept().size(), 1);
  const auto file = kept()[0];
  const auto made = std::filesystem::last_write_time(file);
  EXPECT_EXIT(by_another_process(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(std::filesystem::last_write_time(file), made);
  // As a full disk leaves it.
  std::ofstream(file) << "nothing of use";
  const cpu_function f = detail::cpu_compiler::compile(text, "a", {"kept_text"})[0];
  EXPECT_GT(std::filesystem::file_size(file), 1000);
  int x = 0;
  int* at = &x;
  void* arguments[] = {&at};
  f({{0, 0, 0}, {1, 1, 1}, {1, 1, 1}, nullptr}, arguments);
  EXPECT_EQ(x, 7);
  detail::cpu_compiler::compile(text + " ", "a", {"kept_text"});
  EXPECT_EQ(kept().size(), 2);
}

TEST(cpu_compiler, where_there_is_none_it_is_said_what_to_do) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto without = [] {
    unsetenv("CXX");
    setenv("PATH", "/nonexistent", 1);
    try {
      detail::cpu_compiler::compile("", "a kernel", {});
    } catch (const not_built& e) {
      std::fputs(e.what(), stderr);
      std::exit(3);
    }
  };
  EXPECT_EXIT(without(), testing::ExitedWithCode(3), "no C.. compiler was found; install g.. or clang");
}

std::string failure_of(const std::string& text) {
  try {
    detail::declared_kernels(text);
  } catch (const usage_error& e) {
    return e.what();
  }
  return "none";
}

TEST(kernel_declaration, reads_what_the_dialect_allows) {
  const auto all = detail::declared_kernels(
      "// IX_KERNEL(in_a_comment, (int n))\n/* IX_KERNEL(in_another, (int n)) */\n#define TILE 16\n#define ROW \\\n  "
      "TILE\n"
      "struct pair { int a; };\nIX_KERNEL_OF_GROUP(first, (ROW, 4, 1),\n    (const int n, IX_GLOBAL const struct pair* "
      "IX_RESTRICT p))"
      "{ printf(\"IX_KERNEL(in_text, (int n))\"); }\n"
      "IX_KERNEL_RESIDENT(second, (8,8,8), 2, (unsigned int k, IX_GLOBAL IX_DOUBLE2 const *x, IX_GLOBAL IX_HALF *const "
      "h)) {}");
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(all[0].name, "first");
  EXPECT_EQ(all[0].fixed_group, (extent3{16, 4, 1}));
  EXPECT_THAT(all[0].names, ElementsAre("n", "p"));
  EXPECT_THAT(all[0].types, ElementsAre("int", "struct pair"));
  EXPECT_EQ(all[0].arguments[1].what, kernel_argument::kind::read);
  EXPECT_EQ(all[1].fixed_group, (extent3{8, 8, 8}));
  EXPECT_THAT(all[1].types, ElementsAre("unsigned int", "IX_DOUBLE2", "IX_HALF"));
  EXPECT_EQ(all[1].arguments[1].what, kernel_argument::kind::read);
  EXPECT_EQ(all[1].arguments[2].what, kernel_argument::kind::read_write);
  EXPECT_EQ(all[1].arguments[2].bytes, 2);
}

TEST(kernel_declaration, says_what_it_does_not_understand) {
  EXPECT_THAT(failure_of("IX_KERNEL(a, (bool b)) {}"), HasSubstr("kernel 'a': parameter 'bool b' is none"));
  EXPECT_THAT(failure_of("IX_KERNEL(a, (int)) {}"), HasSubstr("parameter 'int'"));
  EXPECT_THAT(failure_of("IX_KERNEL(a, (size_t n)) {}"), HasSubstr("parameter 'size_t n'"));
  EXPECT_THAT(failure_of("IX_KERNEL_OF_GROUP(a, (N, 1, 1), (int n)) {}"), HasSubstr("the size 'N' of its groups"));
  EXPECT_THAT(failure_of("IX_KERNEL_OF_GROUP(a, (16, 1), (int n)) {}"), HasSubstr("a group is (x, y, z)"));
  EXPECT_THAT(failure_of("IX_KERNEL(a, int n) {}"), HasSubstr("its parameters stand in brackets"));
  EXPECT_THAT(failure_of("IX_KERNEL(a, (int n)"), HasSubstr("'IX_KERNEL' has 2 parts"));
  EXPECT_THAT(failure_of("IX_KERNEL(a, (int n)) {} IX_KERNEL(a, (long n)) {}"), HasSubstr("kernel 'a' is there twice"));
  EXPECT_THAT([] { text_kernels("int x;", "nothing.txt"); },
              ThrowsMessage<usage_error>(HasSubstr("nothing.txt has no kernel")));
  EXPECT_THAT([] { static_cast<void>(text_kernels("IX_KERNEL(here, (int n)) {}").get("there")); },
              ThrowsMessage<usage_error>(HasSubstr("has no kernel 'there': it has here")));
}

TEST(kernel_declaration, refuses_what_leaves_a_region_and_regions_in_regions) {
  const auto said_of = [](const std::string& body) { return failure_of("IX_KERNEL(walk, (int n)) { " + body + " }"); };
  EXPECT_THAT(said_of("IX_ITEMS { if (n) return; }"), HasSubstr("kernel 'walk': return leaves a region"));
  EXPECT_THAT(said_of("IX_ITEMS_BELOW(n) if (n) return;"), HasSubstr("return leaves a region"));
  EXPECT_THAT(said_of("for (;;) { IX_ITEMS { if (n) break; } }"), HasSubstr("break leaves a region"));
  EXPECT_THAT(said_of("IX_ITEMS { for (;;) { n; } if (n) break; }"), HasSubstr("break leaves a region"));
  EXPECT_THAT(said_of("IX_ITEMS { IX_ITEMS { n; } }"), HasSubstr("a region stands in a region"));
  EXPECT_THAT(said_of("IX_ITEMS { if (n) IX_STREAM_BELOW(n, n, n); }"), HasSubstr("a region stands in a region"));
  for (const char* right : {"if (!n) return; for (;;) { IX_ITEMS if (n) n; if (n) break; }",
                            "IX_ITEMS { for (;;) if (n) break; else n; while (n) break; }",
                            "IX_ITEMS { do { if (n) break; } while (n); switch (n) { case 1: break; default: n; } }",
                            "IX_ITEMS { for (;;) for (;;) { if (n) break; } continue; } /* return; */ return;"}) {
    EXPECT_NO_THROW(detail::declared_kernels(std::string("IX_KERNEL(walk, (int n)) { ") + right + " }")) << right;
  }
}

}  // namespace

}  // namespace text_kernels_test

#include "imbrex/device/opencl/opencl_programs.h"

#include <unistd.h>

#include <fstream>

#include "imbrex/base/error.h"
#include "opencl_fixture.h"

namespace opencl_programs_test {

using namespace imbrex;
using namespace imbrex_test;
using testing::HasSubstr;

namespace {

/// Its own folder, which goes with it.
struct opencl_program_files : testing::Test {
  void SetUp() override {
    SKIP_WITHOUT_OPENCL();
    folder =
        std::filesystem::path(testing::TempDir()) /
        ("imbrex-opencl-" + std::to_string(getpid()) + testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  /// In a run of its own: what was compiled and what came from files.
  opencl_programs::usage run(const char* source = test_program, std::int64_t expected = 7) {
    opencl_pe pe(folder);
    auto s = pe.make();
    buffer<std::int64_t> data(pe.on(), 10);
    std::int64_t seen = 0;
    s->fill(data.data(), 0, 80);
    multiply_add(*s, data.data(), 10, 2, 7, source);
    s->copy(&seen, data.data() + 9, 8);
    pe.finish(*s);
    EXPECT_EQ(seen, expected);
    return pe.on().processor().programs().used();
  }
  std::filesystem::path only_file() const {
    std::vector<std::filesystem::path> files;
    for (const auto& f : std::filesystem::directory_iterator(folder)) files.push_back(f.path());
    EXPECT_EQ(files.size(), 1U);
    return files.empty() ? std::filesystem::path() : files.front();
  }

  std::filesystem::path folder;
};

TEST_F(opencl_program_files, are_written_once_and_read_by_the_next_run) {
  EXPECT_EQ(run().compiled, 1U);
  const auto second = run();
  EXPECT_EQ(second.compiled, 0U);
  EXPECT_EQ(second.from_file, 1U);
  const std::string other = std::string(test_program) + "// another text\n";
  EXPECT_EQ(run(other.c_str()).compiled, 1U);
  EXPECT_EQ(run(other.c_str()).from_file, 1U);
}

TEST_F(opencl_program_files, that_are_broken_are_written_again) {
  run();
  const auto size = std::filesystem::file_size(only_file());
  for (const std::uintmax_t kept : {std::uintmax_t{0}, std::uintmax_t{20}, size / 2, size - 1}) {
    std::filesystem::resize_file(only_file(), kept);
    EXPECT_EQ(run().compiled, 1U) << kept;
    EXPECT_EQ(run().from_file, 1U) << kept;
  }
  {
    std::fstream file(only_file(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(size) - 5);
    file << "xx";
  }
  EXPECT_EQ(run().compiled, 1U) << "a byte was changed";
  std::ofstream(only_file(), std::ios::trunc) << "something else";
  EXPECT_EQ(run().compiled, 1U);
  EXPECT_EQ(run().from_file, 1U);
}

TEST_F(opencl_program_files, of_what_the_driver_refuses_are_written_again) {
  run();
  opencl_pe pe;
  const opencl_program_cache files(folder);
  const auto key = pe.on().processor().programs().key(test_program, "");
  ASSERT_TRUE(files.find(key).has_value());
  files.keep(key, std::vector<unsigned char>(100, 'x'));  // whole, but no program
  EXPECT_EQ(run().compiled, 1U);
  EXPECT_EQ(run().from_file, 1U);
}

TEST_F(opencl_program_files, are_not_needed) {
  std::ofstream(folder) << "no folder";
  EXPECT_EQ(run().compiled, 1U);
  EXPECT_EQ(run().compiled, 1U);
}

TEST_F(opencl_program_files, are_told_apart_by_all_that_makes_them) {
  const opencl_program_cache files(folder);
  const opencl_program_cache::program p{"source", "-DX", "device", "1.0"};
  files.keep(p, {1, 2, 3});
  EXPECT_EQ(files.find(p), (std::vector<unsigned char>{1, 2, 3}));
  auto other = p;
  other.driver = "1.1";
  EXPECT_EQ(files.find(other), std::nullopt);
  other = p;
  other.options = "-DY";
  EXPECT_EQ(files.find(other), std::nullopt);
  other = p;
  other.source += " ";
  EXPECT_EQ(files.find(other), std::nullopt);
  std::filesystem::copy(files.file_of(p), files.file_of(other));  // as if two had the same hash
  EXPECT_EQ(files.find(other), std::nullopt);
}

std::string build_error(const char* source, const char* options = nullptr) {
  opencl_pe pe;
  auto s = pe.make();
  try {
    s->launch_program_kernel(source, options, "f", {1, 1, 1}, {1, 1, 1}, 0, {});
  } catch (const device_error& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(opencl_programs, that_do_not_build_tell_the_line) {
  SKIP_WITHOUT_OPENCL();
  EXPECT_THAT(build_error("kernel void f() {\n\n  int i = no_such_name;\n}\n"),
              testing::AllOf(HasSubstr("no_such_name"), HasSubstr(":3:")));
  EXPECT_THAT(build_error("#line 42 \"stencil.cc\"\nkernel void f() { no_such_name = 1; }\n"),
              testing::AllOf(HasSubstr("stencil.cc:42"), HasSubstr("no_such_name")));
  EXPECT_THAT(build_error("kernel void f() { int i = X; }", "-DX=no_such_name"), HasSubstr("-DX=no_such_name"));
}

TEST(opencl_programs, are_built_once_for_all_pes_and_options_make_others) {
  SKIP_WITHOUT_OPENCL();
  opencl_pe pe;
  const char* source = "kernel void f(global int* to) { to[0] = X; }";
  opencl_device second(pe.machine, pe.machine.processor(0), pe.pe.queue, pe.completion);
  auto s = pe.make();
  buffer<int> to(pe.on(), 1);
  const std::array arguments{opencl_argument::pointer(to.data())};
  int seen[2] = {};
  for (const int i : {0, 1}) {
    s->launch_program_kernel(source, i == 0 ? "-DX=10" : "-DX=11", "f", {1, 1, 1}, {1, 1, 1}, 0, arguments);
    s->copy(&seen[i], to.data(), sizeof(int));
  }
  pe.finish(*s);
  EXPECT_EQ(seen[0], 10);
  EXPECT_EQ(seen[1], 11);
  second.kernels().get(source, "-DX=10", "f");
  EXPECT_EQ(pe.on().processor().programs().used().compiled, 2U);
  EXPECT_EQ(pe.on().processor().programs().used().from_memory, 1U);
}

}  // namespace

}  // namespace opencl_programs_test

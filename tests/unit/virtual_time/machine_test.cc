#include "imbrex/virtual_time/machine/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"

namespace machine_test {

namespace {

using imbrex::machine;
using testing::HasSubstr;

#if !IMBREX_HAVE_TOML

TEST(machine_without_toml, says_what_to_install) {
  try {
    static_cast<void>(imbrex::read_machine("summit"));
    FAIL();
  } catch (const imbrex::not_built& e) {
    EXPECT_THAT(e.what(), HasSubstr("libtomlplusplus-dev"));
  }
}

#else

struct machine_file {
  explicit machine_file(const std::string& text) { std::ofstream(path) << text; }
  ~machine_file() { std::filesystem::remove(path); }
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "_machine.toml";
};

machine read(const std::string& text) {
  const machine_file file(text);
  return imbrex::read_machine(file.path);
}

std::string complaint(const std::string& text) {
  try {
    static_cast<void>(read(text));
  } catch (const imbrex::config_error& e) {
    return e.what();
  }
  return "none";
}

TEST(machine, all_known_ones_can_be_read) {
  EXPECT_GE(imbrex::known_machines().size(), 6U);
  for (const std::string& name : imbrex::known_machines()) {
    const machine m = imbrex::read_machine(name);
    EXPECT_EQ(m.name, name);
    EXPECT_FALSE(m.description.empty()) << name;
    EXPECT_GT(m.node.gpus, 0) << name;
  }
  EXPECT_EQ(imbrex::read_machine("summit").node.gpus, 6);
}

TEST(machine, what_a_file_leaves_out_is_the_default) {
  const machine m = read("[network]\nlatency_us = 7\ncards = 2\n[kernels.\"my kernel\"]\nus = 3\n");
  EXPECT_EQ(m.network.latency_us, 7);
  EXPECT_EQ(m.network.cards, 2);
  EXPECT_EQ(m.network.gbs, machine{}.network.gbs);
  ASSERT_EQ(m.kernels.count("my kernel"), 1U);
  EXPECT_EQ(m.kernels.at("my kernel").us, 3);
}

TEST(machine, what_no_machine_has_is_named) {
  EXPECT_THAT(complaint("[network]\nlatency = 7"), HasSubstr("[network] has no 'latency'"));
  EXPECT_THAT(complaint("[netwrk]\nlatency_us = 7"), HasSubstr("no part 'netwrk'"));
  EXPECT_THAT(complaint("[network]\nlatency_us = -1"), HasSubstr("latency_us of [network]"));
  EXPECT_THAT(complaint("[network]\nlatency_us = 1e16"),
              HasSubstr("latency_us of [network] is a number, at most 1e+09"));
  EXPECT_THAT(complaint("[gpu]\nmemory_gb = 1e9"), HasSubstr("memory_gb of [gpu] is a number, at most 1e+06"));
  EXPECT_THAT(complaint("[network]\ngbs = 0"), HasSubstr("gbs of [network]"));
  EXPECT_THAT(complaint("[network]\ngpu_direct = 1"), HasSubstr("true or false"));
  EXPECT_THAT(complaint("[node]\ngpus = 1.5"), HasSubstr("whole number"));
  EXPECT_THAT(complaint("[gpu]\nname = 5"), HasSubstr("is a text"));
  EXPECT_THAT(complaint("node = 5"), HasSubstr("[node] is a table"));
  EXPECT_THAT(complaint("[kernels.\"x\"]\nseconds = 1"), HasSubstr("'seconds'"));
  EXPECT_THAT(complaint("x = ="), HasSubstr("line 1"));
}

TEST(machine, one_that_is_not_there_is_named) {
  EXPECT_THROW(static_cast<void>(imbrex::read_machine("smmit")), imbrex::config_error);
  EXPECT_THROW(static_cast<void>(imbrex::read_machine("./no/such.toml")), imbrex::config_error);
  EXPECT_THROW(static_cast<void>(imbrex::read_machine("/")), imbrex::config_error) << "a folder";
  try {
    static_cast<void>(imbrex::read_machine("smmit"));
  } catch (const imbrex::config_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("summit"));
  }
}

#endif

}  // namespace

}  // namespace machine_test

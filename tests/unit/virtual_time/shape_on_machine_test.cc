// What a job is on a simulated machine: its ranks and PEs, what is warned of, and what is remembered of it.
#include "imbrex/runtime/virtual_time/shape_on_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/base/build_config.h>
#include <imbrex/tuner.h>

#include <filesystem>
#include <string>
#include <vector>

#include "unit/virtual_time/quiet_machine.h"

namespace shape_on_machine_test {
namespace {

namespace ix = imbrex;
using namespace imbrex_test;
using testing::HasSubstr;

ix::machine with_cores(int cores) {
  ix::machine m;
  m.name = "some";
  m.node.cores = cores;
  m.node.gpus = 0;
  return m;
}

std::string warnings_of(const ix::machine& m, int nodes, int ranks_per_node, int pes) {
  ix::runtime_options o;
  o.device = "host";
  o.pes = pes;
  o.virtual_time.nodes = nodes;
  o.virtual_time.ranks_per_node = ranks_per_node;
  testing::internal::CaptureStderr();
  static_cast<void>(ix::detail::shape_on_machine(m, o));
  return testing::internal::GetCapturedStderr();
}

TEST(shape_on_machine, more_pes_than_cores_are_warned_of) {
  EXPECT_EQ(warnings_of(with_cores(8), 2, 2, 4), "");
  const std::string said = warnings_of(with_cores(8), 2, 2, 5);
  EXPECT_THAT(said, HasSubstr("10 PEs on each node of some, which has 8 cores"));
  EXPECT_THAT(said, HasSubstr("use --imbrex-pes=4"));
}

TEST(shape_on_machine, more_than_fits_into_the_memory_here_is_warned_of) {
  const std::string said = warnings_of(with_cores(1000), 900, 1000, 1);
  EXPECT_THAT(said, HasSubstr("900000 PEs in 900000 ranks take some"));
  EXPECT_THAT(said, HasSubstr("use fewer nodes (--imbrex-nodes) or PEs"));
}

TEST(shape_on_machine, pes_are_as_fast_as_one_another) {
  ix::runtime_options o;
  o.device = "host";
  ASSERT_EQ(o.balance.rates, "measured");
  ix::detail::shape_on_machine(with_cores(8), o);
  EXPECT_EQ(o.balance.rates, "equal");
}

#if IMBREX_HAVE_TOML

// ------------------------------------------------------------------------------------------------ what tuners remember

ix::task<int> tunes(ix::runtime& rt, bool* was_remembered) {
  ix::tuner t(rt, "shape_on_machine_test", "problem", {{"odf", {1, 2}}});
  *was_remembered = t.was_remembered();
  while (const auto p = t.next()) t.tell((*p)["odf"]);
  co_return 0;
}

TEST(tuning_on_a_machine, is_remembered_for_what_its_file_says_and_for_how_completion_is_noticed) {
  const std::string path = fmt::format("{}{}_tuning.json", testing::TempDir(), getpid());
  const auto is_remembered = [&](const std::string& text, const char* completion) {
    bool was = false;
    const outcome o = run_on_machine(text,
                                     {"--imbrex-nodes=1", "--imbrex-ranks-per-node=1", "--imbrex-device=cuda",
                                      "--imbrex-tuning=" + path, fmt::format("--imbrex-completion={}", completion)},
                                     &tunes, &was);
    EXPECT_EQ(o.code, 0) << o.errors;
    return was;
  };
  const std::string quiet = quiet_machine;
  std::string faster = quiet;
  faster.replace(faster.find("memory_gbs = 100"), 16, "memory_gbs = 900");
  EXPECT_FALSE(is_remembered(quiet, "flag"));
  EXPECT_TRUE(is_remembered(quiet, "flag"));
  EXPECT_FALSE(is_remembered(quiet, "event"));
  EXPECT_FALSE(is_remembered(faster, "flag")) << "the same file by name";
  EXPECT_TRUE(is_remembered(quiet, "event")) << "all are kept";
  std::filesystem::remove(path);
}

#endif

}  // namespace
}  // namespace shape_on_machine_test

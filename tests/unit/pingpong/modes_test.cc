#include "modes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "imbrex/base/build_config.h"

namespace pingpong {
namespace modes_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(modes, names_are_different_and_read_back) {
  std::set<std::string> names;
  for (const mode m : all_modes) {
    EXPECT_THAT(parse_modes(name(m)), testing::ElementsAre(m));
    EXPECT_STRNE(description(m), "?");
    names.insert(name(m));
  }
  EXPECT_EQ(names.size(), all_modes.size());
}

surroundings two_processes() {
  surroundings s;
  s.ranks = 2;
  s.transport = "mpi";
  s.players_share_process = false;
  s.mpi = true;
  return s;
}

TEST(modes, imbrex_itself_runs_everywhere) {
  EXPECT_THAT(why_not(mode::entry, surroundings()), IsEmpty());
  EXPECT_THAT(why_not(mode::put_host, two_processes()), IsEmpty());
}

TEST(modes, without_a_gpu_its_reason_is_given) {
  surroundings s = two_processes();
  s.why_no_gpu = "no NVIDIA driver is installed";
  for (const mode m : all_modes) {
    if (on_devices(m)) {
      EXPECT_EQ(why_not(m, s), s.why_no_gpu) << name(m);
    }
  }
}

#if IMBREX_HAVE_MPI
TEST(modes, baselines_between_processes_say_what_they_need) {
  EXPECT_THAT(why_not(mode::mpi_host, surroundings()), HasSubstr("one process only"));
  surroundings s = two_processes();
  EXPECT_THAT(why_not(mode::mpi_host, s), IsEmpty());
  s.pes_per_rank = 2;
  EXPECT_THAT(why_not(mode::mpi_host, s), HasSubstr("--imbrex-pes 1 instead of 2"));
  s.transport = "loopback";
  EXPECT_THAT(why_not(mode::mpi_host, s), HasSubstr("loopback"));
}
#endif

TEST(modes, copies_need_two_gpus_in_one_process) {
  surroundings s;
  s.gpus = true;
  EXPECT_THAT(why_not(mode::copy_device, s), IsEmpty());
  s.players_share_gpu = true;
  EXPECT_THAT(why_not(mode::copy_device, s), HasSubstr("the same GPU"));
  surroundings apart = two_processes();
  apart.gpus = true;
  EXPECT_THAT(why_not(mode::copy_device, apart), HasSubstr("two processes"));
}

}  // namespace
}  // namespace modes_test
}  // namespace pingpong

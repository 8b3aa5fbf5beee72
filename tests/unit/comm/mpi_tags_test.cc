#include "imbrex/comm/mpi/mpi_tags.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "imbrex/comm/transport.h"

namespace mpi_tags_test {

using namespace imbrex;

namespace {

constexpr int smallest_of_the_standard = 32'767;

std::uint64_t id_of(std::uint64_t pe, std::uint64_t counter, bool to_host = false, bool answers = false) {
  return (pe << 31) | counter | (to_host ? transport::between_hosts : 0) | (std::uint64_t{answers} << 43);
}

TEST(mpi_tags, of_different_pes_are_never_the_same) {
  for (const int pes : {1, 2, 7, 64}) {
    const mpi_tags tags(smallest_of_the_standard, pes);
    std::map<int, std::uint64_t> owner;
    for (int pe = 0; pe < pes; ++pe) {
      for (const bool answers : {false, true}) {
        const auto who = static_cast<std::uint64_t>(2 * pe + (answers ? 1 : 0));
        for (std::uint64_t counter = 0; counter < 40'000; counter += 3) {
          const int tag = tags.of(id_of(static_cast<std::uint64_t>(pe), counter, counter % 2 == 0, answers));
          ASSERT_GE(tag, 0);
          ASSERT_LE(tag, smallest_of_the_standard);
          ASSERT_EQ(owner.try_emplace(tag, who).first->second, who) << "PE " << pe << ", number " << counter;
        }
      }
    }
  }
}

TEST(mpi_tags, of_one_pe_come_again_as_late_as_can_be) {
  const mpi_tags tags(smallest_of_the_standard, 4);
  EXPECT_EQ(tags.per_pe(), 32'768u / 8);
  std::set<int> used;
  const std::uint64_t start = (std::uint64_t{1} << 30) - 100;  // where the counter begins anew
  for (std::uint64_t i = 0; i < tags.per_pe() - 100; ++i) used.insert(tags.of(id_of(3, i)));
  EXPECT_EQ(used.size(), tags.per_pe() - 100);
  EXPECT_NE(tags.of(id_of(3, start)), tags.of(id_of(3, start + 1)));
}

TEST(mpi_tags, hold_for_the_most_pes_there_can_be) {
  const mpi_tags tags(smallest_of_the_standard, 4096);
  EXPECT_GE(tags.per_pe(), 4u);
  EXPECT_LE(tags.of(id_of(4095, 12'345, false, true)), smallest_of_the_standard);
}

}  // namespace

}  // namespace mpi_tags_test

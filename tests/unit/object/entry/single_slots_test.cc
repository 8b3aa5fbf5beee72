#include "imbrex/object/entry/single_slots.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace single_slots_test {

using namespace imbrex;

namespace {

struct record {
  explicit record(const no_index& i) : index(i) {}
  const no_index index;
};
using slots_of_records = single_slots<record>;

TEST(single_slots, finds_who_lives_and_nobody_else) {
  slots_of_records slots;
  std::vector<std::uint64_t> names;
  std::set<std::uint64_t> ever;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 20; ++i) {
      record& e = slots.take(3);
      EXPECT_EQ(e.index.home, 3);
      EXPECT_EQ(e.index.maker, 3);
      EXPECT_TRUE(slots.may_have_named(e.index.count));
      EXPECT_TRUE(ever.insert(e.index.count).second) << "a name was given twice";
      EXPECT_EQ(slots.find(e.index.count), &e);
      names.push_back(e.index.count);
    }
    for (int i = 0; i < 15; ++i) {
      const std::size_t which = (static_cast<std::size_t>(round) * 31 + static_cast<std::size_t>(i) * 7) % names.size();
      slots.give_back(*slots.find(names[which]));
      EXPECT_EQ(slots.find(names[which]), nullptr);
      names.erase(names.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
  std::set<std::uint64_t> alive;
  slots.for_each([&](const record& e) { alive.insert(e.index.count); });
  EXPECT_EQ(alive, std::set<std::uint64_t>(names.begin(), names.end()));
  EXPECT_GE(slots.largest_name(), *ever.rbegin());
}

TEST(single_slots, names_nobody_as_a_job_before_did) {
  slots_of_records before;
  EXPECT_EQ(before.largest_name(), 0u);
  before.give_back(before.take(0));
  const std::uint64_t old = before.take(0).index.count;
  slots_of_records now;
  now.name_after(before.largest_name());
  EXPECT_FALSE(now.may_have_named(old));
  const std::uint64_t first = now.take(0).index.count;
  EXPECT_GT(first, before.largest_name());
  EXPECT_TRUE(now.may_have_named(first));
}

TEST(single_slots, leave_a_slot_alone_once_all_its_names_are_given) {
  slots_of_records slots;
  slots.name_after(std::uint64_t{UINT32_MAX - 2} << 32);
  std::set<std::uint64_t> names;
  for (int i = 0; i < 10; ++i) {
    record& e = slots.take(0);
    EXPECT_TRUE(names.insert(e.index.count).second);
    slots.give_back(e);
  }
  EXPECT_EQ(names.size(), 10u);
}

}  // namespace

}  // namespace single_slots_test

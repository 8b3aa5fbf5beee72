#include "imbrex/checkpoint/checkpoint_folder.h"

#include "imbrex/base/error.h"
#include "unit/checkpoint/checkpoint_fixture.h"

namespace checkpoint_folder_test {

namespace {

using namespace checkpoint_test;
using namespace imbrex;
using testing::ElementsAre;
using testing::IsEmpty;
namespace fs = std::filesystem;

struct checkpoint_folder : checkpoint_fixture {
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(base)) all.push_back(entry.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }
};

TEST_F(checkpoint_folder, names) {
  EXPECT_EQ(checkpoint_path("a", 12), "a/000012");
  EXPECT_EQ(checkpoint_path("a", 12345678), "a/12345678");
  EXPECT_EQ(partial_path("a", 12), "a/.000012.partial");
  fs::create_directories(base);
  for (const char* name :
       {"000012", "12", "0000012", "000012x", "a", ".000013.partial", "1234567", "99999999999999999999999"})
    fs::create_directory(base + '/' + name);
  EXPECT_THAT(checkpoint_numbers(base), ElementsAre(1234567, 12));
  EXPECT_THAT(checkpoint_numbers(base + "/none"), IsEmpty());
}

TEST_F(checkpoint_folder, the_newest_two_are_kept_and_numbers_go_on) {
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(write_sample(base, 2), checkpoint_path(base, static_cast<std::uint64_t>(i)));
  EXPECT_THAT(names(), ElementsAre("000004", "000005"));
  write_sample(base, 2, 1);
  EXPECT_THAT(names(), ElementsAre("000006"));
  write_sample(base, 2, 3);
  write_sample(base, 2, 3);
  write_sample(base, 2, 3);
  EXPECT_THAT(names(), ElementsAre("000007", "000008", "000009"));
  EXPECT_THROW(keep_last(base, 0), usage_error);
}

TEST_F(checkpoint_folder, broken_ones_do_not_count_as_kept) {
  write_sample(base, 1, 3);
  write_sample(base, 1, 3);
  write_sample(base, 1, 3);
  fs::remove(rank_file_path(checkpoint_path(base, 3), 0));
  keep_last(base, 2);
  EXPECT_THAT(names(), ElementsAre("000001", "000002", "000003"));
  write_sample(base, 1, 2);
  EXPECT_THAT(names(), ElementsAre("000002", "000003", "000004"));
  write_sample(base, 1, 2);
  EXPECT_THAT(names(), ElementsAre("000004", "000005"));
}

TEST_F(checkpoint_folder, are_listed_the_newest_first_with_what_is_wrong) {
  for (int i = 0; i < 4; ++i) write_sample(base, 2, 4);
  fs::create_directory(partial_path(base, 9));
  fs::remove(rank_file_path(checkpoint_path(base, 4), 1));
  flip_bit(manifest_path(checkpoint_path(base, 2)), 50);
  const auto list = list_checkpoints(base);
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].path, base + "/000004");
  EXPECT_EQ(list[0].complaint->fault(), snapshot_fault::missing_file);
  EXPECT_EQ(list[0].about->facts.step, 400u);
  EXPECT_EQ(list[1].path, base + "/000003");
  EXPECT_FALSE(list[1].complaint);
  EXPECT_EQ(list[2].complaint->fault(), snapshot_fault::damaged_manifest);
  EXPECT_FALSE(list[2].about);
  EXPECT_FALSE(list[3].complaint);
  const auto latest = find_latest(base);
  EXPECT_EQ(latest.path, base + "/000003");
  ASSERT_EQ(latest.skipped.size(), 1u);
  EXPECT_EQ(latest.skipped[0].fault(), snapshot_fault::missing_file);
}

TEST_F(checkpoint_folder, without_any) {
  fs::create_directories(base);
  EXPECT_EQ(find_latest(base).path, "");
  EXPECT_THAT(find_latest(base).skipped, IsEmpty());
  EXPECT_THAT(list_checkpoints(base), IsEmpty());
}

TEST_F(checkpoint_folder, a_remedy_is_named_as_the_user_named_the_folder) {
  write_sample(base, 1);
  write_sample(base, 1);
  const fs::path before = fs::current_path();
  fs::current_path(base);
  const auto e = error_of([] { snapshot_reader r("000007"); });
  fs::current_path(folder);
  const auto f = error_of([] { snapshot_reader r("checkpoints/000007"); });
  fs::current_path(before);
  EXPECT_THAT(e.what(), testing::EndsWith("; 000002 is whole: restart from 000002"));
  EXPECT_THAT(f.what(), testing::EndsWith("restart from checkpoints/000002"));
}

}  // namespace

}  // namespace checkpoint_folder_test

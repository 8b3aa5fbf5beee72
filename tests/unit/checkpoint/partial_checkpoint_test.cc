#include "imbrex/checkpoint/partial_checkpoint.h"

#include "imbrex/base/error.h"
#include "unit/checkpoint/checkpoint_fixture.h"

namespace partial_checkpoint_test {

namespace {

using namespace checkpoint_test;
using namespace imbrex;
using testing::HasSubstr;
namespace fs = std::filesystem;

struct partial_checkpoints : checkpoint_fixture {
  static rank_file_facts write_rank(const partial_checkpoint& p, int rank) {
    return snapshot_writer(p.folder(), rank).finish();
  }
  static std::string refusal(auto call) {
    try {
      call();
    } catch (const usage_error& e) {
      return e.what();
    }
    return "nothing was thrown";
  }
};

TEST_F(partial_checkpoints, are_no_checkpoints_before_they_are_committed) {
  write_sample(base, 1);
  {
    partial_checkpoint p(base + "//");
    EXPECT_EQ(p.folder(), partial_path(base, 2));
    EXPECT_EQ(p.number(), 2u);
    write_rank(p, 0);
    EXPECT_EQ(find_latest(base).path, checkpoint_path(base, 1));
    EXPECT_TRUE(fs::exists(p.folder()));
  }
  EXPECT_FALSE(fs::exists(partial_path(base, 2)));  // given up
  partial_checkpoint p(base);
  const auto facts = write_rank(p, 0);
  EXPECT_EQ(p.commit(sample_facts(2, 1), {facts}), checkpoint_path(base, 2));
  EXPECT_FALSE(fs::exists(p.folder()));
  EXPECT_EQ(find_latest(base).path, checkpoint_path(base, 2));
}

TEST_F(partial_checkpoints, a_base_where_nothing_can_be_made_is_refused_at_the_start) {
  for (const char* place : {"/proc/checkpoints", "/proc/checkpoints/deep", "/proc/self"}) {  // also as root
    try {
      check_checkpoint_base(place);
      FAIL() << place;
    } catch (const snapshot_error& e) {
      EXPECT_EQ(e.file(), place);
    }
  }
  check_checkpoint_base(base + "/a/b");
  EXPECT_FALSE(fs::exists(base + "/a")) << "nothing is left";
}

TEST_F(partial_checkpoints, the_base_is_created_with_what_is_above_it) {
  write_sample(folder + "/a/b/c", 1);
  EXPECT_EQ(find_latest(folder + "/a/b/c").path, folder + "/a/b/c/000001");
}

TEST_F(partial_checkpoints, leavings_of_crashes_are_removed_and_nothing_else) {
  write_sample(base, 1);
  fs::create_directories(partial_path(base, 1) + "/deep");
  fs::create_directories(partial_path(base, 77));
  std::ofstream(partial_path(base, 77) + "/rank_000000") << "half";
  for (const char* name : {".partial", ".x.partial", "000005.partial", ".000006.partial.old", "notes"})
    fs::create_directory(base + '/' + name);
  const partial_checkpoint p(base);
  EXPECT_EQ(p.number(), 2u);
  EXPECT_FALSE(fs::exists(partial_path(base, 1)));
  EXPECT_FALSE(fs::exists(partial_path(base, 77)));
  for (const char* name : {".partial", ".x.partial", "000005.partial", ".000006.partial.old", "notes"})
    EXPECT_TRUE(fs::exists(base + '/' + name)) << name;
}

TEST_F(partial_checkpoints, two_jobs_do_not_write_into_one_folder) {
  const partial_checkpoint first(base);
  const auto e = error_of([&] { partial_checkpoint second(base); });
  EXPECT_EQ(e.fault(), snapshot_fault::in_use);
  EXPECT_THAT(e.what(), HasSubstr("is being written into by another job: give each job a folder of its own"));
  EXPECT_TRUE(fs::exists(first.folder()));
}

TEST_F(partial_checkpoints, a_job_keeps_its_folder_between_checkpoints) {
  folder_claim own(base + '/'), of_another(base);
  EXPECT_TRUE(own.take()) << "there is nothing to claim yet";
  {
    const partial_checkpoint first(base, &own);
  }
  EXPECT_FALSE(of_another.take());
  EXPECT_EQ(error_of([&] { partial_checkpoint second(base); }).fault(), snapshot_fault::in_use);
  EXPECT_EQ(error_of([&] { partial_checkpoint second(base, &of_another); }).fault(), snapshot_fault::in_use);
  {
    const partial_checkpoint again(base, &own);
  }
  {
    const partial_checkpoint elsewhere(base + "/deeper", &own);
  }
  folder_claim none("");
  EXPECT_TRUE(none.take());
}

TEST_F(partial_checkpoints, files_come_in_any_order_but_all_of_them) {
  partial_checkpoint p(base);
  const auto a = write_rank(p, 0), b = write_rank(p, 1), c = write_rank(p, 2);
  EXPECT_THAT(refusal([&] { p.commit(sample_facts(1, 3), {a, c}); }), HasSubstr("rank 2 where that of 1 is expected"));
  EXPECT_THAT(refusal([&] { p.commit(sample_facts(1, 3), {a, b}); }),
              HasSubstr("the files of 2 ranks where the job has 3"));
  EXPECT_THAT(refusal([&] { p.commit(sample_facts(1, 3), {a, b, c, c}); }), HasSubstr("rank 2 where that of 3"));
  EXPECT_EQ(snapshot_reader(p.commit(sample_facts(1, 3), {c, a, b})).about().files[2].rank, 2);
}

TEST_F(partial_checkpoints, a_folder_that_ranks_do_not_share_is_noticed) {
  partial_checkpoint p(base);
  auto facts = write_rank(p, 0);
  fs::rename(rank_file_path(p.folder(), 0), folder + "/elsewhere");
  auto e = error_of([&] { p.commit(sample_facts(1, 1), {facts}); });
  EXPECT_EQ(e.fault(), snapshot_fault::missing_file);
  EXPECT_THAT(e.what(), HasSubstr("is not there, though rank 0 wrote it: write checkpoints into a folder that all"));
  fs::rename(folder + "/elsewhere", rank_file_path(p.folder(), 0));
  ++facts.bytes;
  e = error_of([&] { p.commit(sample_facts(1, 1), {facts}); });
  EXPECT_EQ(e.fault(), snapshot_fault::torn);
}

}  // namespace

}  // namespace partial_checkpoint_test

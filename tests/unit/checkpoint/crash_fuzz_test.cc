#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "imbrex/base/clock.h"
#include "imbrex/base/memory/sanitizer.h"
#include "unit/checkpoint/checkpoint_fixture.h"

namespace crash_fuzz_test {

namespace {

using namespace checkpoint_test;
using namespace imbrex;
namespace fs = std::filesystem;

constexpr int num_ranks = 3;

struct crash_fuzz : checkpoint_fixture {
  /// A process that writes one checkpoint after the other until it is killed.
  pid_t start_writer() const {
    const pid_t child = fork();
    if (child != 0) return child;
    try {
      while (true) write_sample(base, num_ranks);
    } catch (const std::exception& e) {
      fprintf(stderr, "the writer: %s\n", e.what());
    }
    _exit(1);
  }

  /// Microseconds, which depend on the disk.
  std::uint64_t time_of_one() const {
    const std::int64_t begin = now_ns();
    for (int i = 0; i < 5; ++i) write_sample(folder + "/timing", num_ranks);
    return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(now_ns() - begin) / 5000, 500, 100'000);
  }

  void kill_after(pid_t child, std::uint64_t microseconds) const {
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    EXPECT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended by itself";
  }

  /// The number of the newest whole one, which is compared with what was written; 0: there is none.
  std::uint64_t check_newest() const {
    if (!fs::exists(base)) return 0;
    const latest_checkpoint latest = find_latest(base, {check_depth::payloads, own_program});
    if (latest.path.empty()) return 0;
    snapshot_reader r(latest.path, {check_depth::indexes, own_program});
    expect_sample(r);
    return r.about().number;
  }

  void truncate_a_file(const std::string& checkpoint) {
    const auto which = static_cast<int>(numbers.below(num_ranks + 1));
    const std::string file = which == num_ranks ? manifest_path(checkpoint) : rank_file_path(checkpoint, which);
    fs::resize_file(file, numbers.below(fs::file_size(file)));
  }

  random_sequence numbers{2024};
};

TEST_F(crash_fuzz, a_killed_writer_leaves_the_old_ones_or_the_new_one) {
  constexpr int rounds = any_sanitizer ? 60 : 200;
  const std::uint64_t longest_us = 4 * time_of_one();
  std::uint64_t newest = 0;
  int num_grown = 0, num_truncated = 0;
  for (int i = 0; i < rounds && !HasFailure(); ++i) {
    kill_after(start_writer(), numbers.below(longest_us));
    // Nothing that is there under its name is broken.
    if (fs::exists(base)) {
      for (const listed_checkpoint& c : list_checkpoints(base, {check_depth::payloads, own_program}))
        EXPECT_FALSE(c.complaint) << c.complaint->what();
    }
    const std::uint64_t now = check_newest();
    EXPECT_GE(now, newest);
    num_grown += now > newest ? 1 : 0;
    newest = now;
    if (numbers.below(4) != 0 || checkpoint_numbers(base).size() < 2) continue;
    truncate_a_file(checkpoint_path(base, newest));
    EXPECT_LT(check_newest(), newest);
    EXPECT_GT(check_newest(), 0u);
    fs::remove_all(checkpoint_path(base, newest));
    newest = check_newest();
    ++num_truncated;
  }
  EXPECT_GT(num_grown, rounds / 20);
  EXPECT_GT(num_truncated, rounds / 40);
  write_sample(base, num_ranks);
  EXPECT_EQ(check_newest(), newest + 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(base), fs::directory_iterator()), 2);  // and nothing partial
}

}  // namespace

}  // namespace crash_fuzz_test

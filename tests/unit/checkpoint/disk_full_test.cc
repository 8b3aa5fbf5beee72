#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "imbrex/checkpoint/disk_file.h"
#include "unit/checkpoint/checkpoint_fixture.h"

namespace disk_full_test {

namespace {

using namespace checkpoint_test;
using namespace imbrex;
using testing::HasSubstr;
namespace fs = std::filesystem;

// A thread that writes or none.
struct disk_full : checkpoint_fixture, testing::WithParamInterface<bool> {
  /// Writes so many bytes by one rank and gives up: what the caller sees.
  snapshot_error writing(std::size_t num_bytes) const {
    return error_of([&] {
      partial_checkpoint p(base);
      snapshot_writer w(p.folder(), 0, {std::size_t{1} << 16, GetParam()});
      const bytes payload(num_bytes / 8);
      for (int i = 0; i < 8; ++i) w.add(0, as_key("key"), payload);
      if (!GetParam()) ADD_FAILURE() << "the call before should have thrown";
      w.finish();
    });
  }
  void expect_nothing_is_left(const std::string& newest) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(base)) names.push_back(entry.path().filename());
    EXPECT_THAT(names, testing::ElementsAre(fs::path(newest).filename().string()));
    EXPECT_EQ(find_latest(base).path, newest);
  }
};
INSTANTIATE_TEST_SUITE_P(, disk_full, testing::Bool(),
                         [](const auto& which) { return which.param ? "behind" : "at_once"; });

/// A file system of its own.
struct small_disk {
  explicit small_disk(const std::string& path) : path_(path) {
    fs::create_directories(path);
    is_there = mount("tmpfs", path.c_str(), "tmpfs", 0, "size=2m") == 0;
  }
  ~small_disk() {
    if (is_there) umount(path_.c_str());
  }
  std::string path_;
  bool is_there;
};

TEST_P(disk_full, a_small_file_system) {
  const small_disk disk(base);
  if (!disk.is_there) GTEST_SKIP() << "no file system can be mounted here: " << std::strerror(errno);
  const std::string older = write_sample(base, 1);
  const auto e = writing(8 << 20);
  EXPECT_EQ(e.fault(), snapshot_fault::disk_full) << e.what();
  EXPECT_EQ(e.file(), rank_file_path(partial_path(base, 2), 0));
  EXPECT_THAT(e.what(), HasSubstr("could not be written (no space left on device, 0.0 MiB free): make room there, or"));
  expect_nothing_is_left(older);
  write_sample(base, 1);  // there is room for this
}

TEST_P(disk_full, a_limit_on_files) {
  const std::string older = write_sample(base, 1);
  const auto was_handled = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit low{300'000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &low);
  const auto e = writing(8 << 20);
  setrlimit(RLIMIT_FSIZE, &old);
  (void)std::signal(SIGXFSZ, was_handled);
  EXPECT_EQ(e.fault(), snapshot_fault::disk_full) << e.what();
  EXPECT_THAT(e.what(), HasSubstr("could not be written (file too large): raise this process's limit on the size"));
  expect_nothing_is_left(older);
}

TEST_P(disk_full, the_device_that_is_always_full) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  partial_checkpoint p(base);
  fs::create_symlink("/dev/full", rank_file_path(p.folder(), 0));
  snapshot_writer w(p.folder(), 0, {4096, GetParam()});
  w.begin(0, as_key("key"));
  const auto e = error_of([&] {
    const bytes payload(100'000);
    w.append(payload);
    if (!GetParam()) ADD_FAILURE() << "the call before should have thrown";
    w.end();
    w.finish();
  });
  EXPECT_EQ(e.fault(), snapshot_fault::disk_full);
  EXPECT_THAT(e.what(), HasSubstr("no space left on device"));
}

TEST_P(disk_full, the_last_bytes) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  partial_checkpoint p(base);
  fs::create_symlink("/dev/full", rank_file_path(p.folder(), 0));
  snapshot_writer w(p.folder(), 0, {4096, GetParam()});
  w.add(0, as_key("key"), bytes(10));
  EXPECT_EQ(error_of([&] { w.finish(); }).fault(), snapshot_fault::disk_full);
}

}  // namespace

}  // namespace disk_full_test

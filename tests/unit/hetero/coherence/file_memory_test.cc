#include "imbrex/hetero/coherence/file_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <random>

#include "imbrex/base/error.h"
#include "unit/object/job.h"

namespace file_memory_test {

// Objects that lie in a file.
namespace {

using namespace imbrex;
using namespace imbrex_test;

std::string folder() { return std::filesystem::temp_directory_path().string(); }

TEST(file_memory, keeps_what_is_written_whatever_comes_and_goes) {
  file_memory m(folder());
  std::mt19937 random(3);
  std::map<std::byte*, std::pair<std::size_t, int>> all;
  std::uint64_t in_use = 0;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto pages = [page](std::size_t n) { return (n + page - 1) / page * page; };
  for (int i = 0; i < 600; ++i) {
    if (all.size() > 20 || (!all.empty() && random() % 3 == 0)) {
      auto at = std::next(all.begin(), static_cast<long>(random() % all.size()));
      const auto [bytes, value] = at->second;
      for (std::size_t k = 0; k < bytes; k += 509) ASSERT_EQ(at->first[k], static_cast<std::byte>(value));
      m.free(at->first);
      in_use -= pages(bytes);
      all.erase(at);
    } else {
      const std::size_t bytes = 1 + random() % 300'000;
      std::byte* const memory = m.allocate(bytes);
      const int value = static_cast<int>(random() % 256);
      std::memset(memory, value, bytes);
      in_use += pages(bytes);
      ASSERT_TRUE(all.emplace(memory, std::pair(bytes, value)).second);
      ASSERT_TRUE(m.has(memory));
    }
    ASSERT_EQ(m.bytes_in_use(), in_use);
  }
}

TEST(file_memory, says_where_there_is_no_room_and_goes_on) {
  file_memory m(folder());
  try {
    m.allocate(std::uint64_t{1} << 55);
    FAIL();
  } catch (const out_of_memory& e) {
    EXPECT_NE(std::string(e.what()).find(folder()), std::string::npos) << e.what();
  }
  std::byte* const memory = m.allocate(100);
  memory[99] = std::byte{1};
  m.free(memory);
  EXPECT_EQ(m.bytes_in_use(), 0U);
  EXPECT_THROW(file_memory("/no/such/folder"), config_error);
}

constexpr std::size_t num = 40, size = 1 << 17;  // objects of 1 MiB

task<int> more_than_fit(runtime&) {
  std::vector<hetero_object<std::uint64_t>> all;
  for (std::size_t i = 0; i < num; ++i) {
    all.emplace_back(size);
    const auto fill = [](std::span<std::uint64_t> v, std::uint64_t c) {
      for (std::size_t k = 0; k < v.size(); ++k) v[k] = c * k;
    };
    submit({.name = "fill"}, fill, write(all[i]), std::uint64_t{i});
  }
  const auto add = [](std::span<std::uint64_t> to, std::span<const std::uint64_t> from) {
    for (std::size_t k = 0; k < to.size(); ++k) to[k] += from[k];
  };
  for (std::size_t i = 1; i < num; ++i)
    submit({.name = "add"}, add, all[i].slice(0, size / 2), all[i - 1].slice(0, size / 2));
  auto over = all_tasks();
  co_await over;
  const std::uint64_t on_disk = hetero_domain::current().places()[0]->bytes_on_disk();
  EXPECT_GE(on_disk, (num - 8) * size * 8);
  std::uint64_t c = 0;
  for (std::size_t i = 0; i < num; ++i) {
    c += i;
    auto access = all[i].host(access_mode::read);
    const auto view = co_await access;
    EXPECT_EQ(view[1000], 1000 * c);
    EXPECT_EQ(view[size - 1], (size - 1) * i);
  }
  all.clear();
  EXPECT_EQ(hetero_domain::current().places()[0]->bytes_on_disk(), 0U);
  co_return 0;
}

TEST(file_memory, has_the_objects_of_a_job_that_are_too_many) {
  for (const int pes : {1, 3}) {
    command_line line({.pes = pes}, {"--imbrex-task-disk=" + folder(), "--imbrex-task-host-mb=8"});
    EXPECT_EQ(run(line.count(), line.values(), more_than_fit), 0);
  }
  command_line alone({}, {"--imbrex-task-host-mb=8"}), nowhere({}, {"--imbrex-task-disk=/no/such/folder"});
  EXPECT_NE(run(alone.count(), alone.values(), more_than_fit), 0);
  EXPECT_NE(run(nowhere.count(), nowhere.values(), more_than_fit), 0);
}

}  // namespace

}  // namespace file_memory_test

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "imbrex/base/hash.h"
#include "imbrex/checkpoint/live/pe_snapshot.h"
#include "imbrex/checkpoint/snapshot_reader.h"
#include "unit/checkpoint/live/job_with_checkpoints.h"
#include "unit/checkpoint/live/ring_program.h"

namespace restart_test {

// Whole jobs that are ended in the middle and begun again from their last checkpoint, on other numbers of ranks and
// PEs.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;

// ------------------------------------------------------------------------------------------------ points

TEST(restart, goes_on_from_the_last_point_on_other_numbers_of_pes) {
  for (const job_shape& s : real_shapes()) {
    SCOPED_TRACE("ended: " + to_text(s));
    folder_of_checkpoints at;
    ASSERT_NO_FATAL_FAILURE(end_with_a_checkpoint<ring>(s, at, 13, 11));
    for (const job_shape& t : real_shapes()) {
      SCOPED_TRACE("restarted: " + to_text(t));
      EXPECT_EQ(run_program<ring>(t, {"--imbrex-restart=" + at.path()}, 13, 11), 0);
    }
  }
}

TEST(restart, goes_on_with_any_schedule) {
  for (int seed = 1; seed <= 25; ++seed) {
    const auto random = [seed](int which, int n) {
      return static_cast<int>(ix::mix(static_cast<std::uint64_t>(10 * seed + which)) % static_cast<std::uint64_t>(n));
    };
    const auto shape = [&](int first) {
      return job_shape{1 + random(first, 4), 1 + random(first + 1, 3), static_cast<std::uint64_t>(seed),
                       random(first + 2, 2) * 40, random(first + 3, 3) == 0};
    };
    const job_shape s = shape(0), t = shape(4);
    SCOPED_TRACE("ended: " + to_text(s) + ", restarted: " + to_text(t));
    folder_of_checkpoints at;
    ASSERT_NO_FATAL_FAILURE(end_with_a_checkpoint<ring>(s, at, 9, 17));
    EXPECT_EQ(run_program<ring>(t, {"--imbrex-restart=" + at.path()}, 9, 17), 0);
  }
}

/// Ends where it is told to, run for run.
struct often_ended : ring {
  using ring::ring;
  static inline int next_end = 0;

  ix::task<int> start(ix::runtime& rt) {
    dies_at = next_end;
    auto rest = ring::start(rt);
    co_return co_await rest;
  }
  ix::task<int> restart(ix::runtime& rt) {
    dies_at = next_end;
    auto rest = finish(rt);
    co_return co_await rest;
  }
};

TEST(restart, survives_any_number_of_ends) {
  for (const job_shape& s : {job_shape{2, 1}, {2, 2, 3, 50}}) {
    SCOPED_TRACE(to_text(s));
    folder_of_checkpoints at;
    for (const int end : {8, 11, 14, 17, 19, 0}) {
      often_ended::next_end = end;
      const int code =
          run_program<often_ended>(s, {at.option(), "--imbrex-checkpoint-every=1", "--imbrex-restart=auto"}, 7, end);
      EXPECT_TRUE(code == 9 || code == 0) << code;
      if (end == 0) {
        EXPECT_EQ(code, 0);
      }
    }
  }
}

TEST(restart, brings_back_what_the_balancer_has_learnt) {
  folder_of_checkpoints at;
  for (const bool balances : {false, true}) {
    std::vector<std::string> options{at.option(), "--imbrex-checkpoint-every=1"};
    if (balances) options.insert(options.end(), {"--imbrex-balance=refine", "--imbrex-balance-every-ms=1"});
    std::uint64_t kept = 0;
    // Until a checkpoint comes after a look, however fast the machine.
    for (int num_steps = 300; kept == 0 && num_steps < 100'000; num_steps *= 3) {
      ASSERT_EQ(run_program<ring>({2, 2}, options, 13, 0, num_steps), 0);
      ix::snapshot_reader reader(at.path() + fmt::format("/{:06}", ix::checkpoint_numbers(at.path()).back()));
      for (int file = 0; file < reader.num_files(); ++file) {
        for (const ix::record_view& r : reader.records(file)) {
          if (r.kind != static_cast<std::uint32_t>(ix::record_kind::balancing)) continue;
          EXPECT_EQ(file, 0);
          kept = r.bytes;
        }
      }
      constexpr std::uint64_t about_an_element = 40;
      if (kept < 13 * about_an_element) kept = 0;
      if (!balances) break;
    }
    EXPECT_EQ(kept > 0, balances);
    options.push_back("--imbrex-restart=" + at.path());
    EXPECT_EQ(run_program<ring>({3, 1}, options, 0, 0, 0), 0);
  }
}

TEST(checkpoint_points, cost_nothing_without_a_folder) { EXPECT_EQ(run_program<ring>({2, 1}, {}, 8, 0), 0); }

TEST(checkpoint_points, are_made_at_each_so_manieth_unless_one_is_being_written) {
  folder_of_checkpoints at;
  EXPECT_EQ(run_program<ring>({2, 1}, {at.option(), "--imbrex-checkpoint-every=2", "--imbrex-checkpoint-keep=9"}, 5, 0),
            0);
  EXPECT_GE(at.num_checkpoints(), 1);
  EXPECT_LE(at.num_checkpoints(), 3);  // of 6 points
}

// ------------------------------------------------------------------------------------------------ channels

/// The same ring, by channels that `serialize` names, of cells that also go to other processes between checkpoints.
struct channel_cell : ix::chare<channel_cell, ix::index1d> {
  channel_cell() : value(ix::mix(static_cast<std::uint64_t>(index().x))) {}

  void begin(int step_to_die_at) {
    dies_at = step_to_die_at;
    if (to.is_open()) return;  // from a checkpoint
    const int n = extent().x;
    to = ix::channel<std::uint64_t>(*this, array()[(index().x + 1) % n], 0, 1);
    from = ix::channel<std::uint64_t>(*this, array()[(index().x + n - 1) % n], 1, 0);
  }
  ix::task<> run() {
    const int n = extent().x;
    while (step < steps) {
      const std::vector<std::uint64_t> out{value};
      const auto sent = to.send(ix::buffer_view<const std::uint64_t>(out), streams().pack);
      {
        const auto left = co_await from.borrow();
        value = ix::mix(value ^ (*left.data() + static_cast<std::uint64_t>(step)));
      }
      co_await sent;
      ++step;
      if (step == dies_at && index().x == n / 2) {
        for (int k = 0; !may_die(); ++k) {
          proxy().send<&channel_cell::again>(k);
          co_await again(k);
        }
        rt().exit(9);
      }
      if (step % 3 == 0) co_await ix::checkpoint_point(*this);
      if (step % 4 == index().x % 4) migrate_to((pe() + 1) % num_pes());
      co_await ix::move_point(*this);
    }
    contribute(value, ix::bit_xor);
  }
  using restartable = ix::entry_list<&channel_cell::run>;

  ix::when<int> again;
  ix::channel<std::uint64_t> to, from;
  std::uint64_t value = 0;
  int step = 0, dies_at = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & to & from & value & step & dies_at;
  }
};

struct channel_ring {
  channel_ring() = default;
  channel_ring(int num_cells, int step) : n(num_cells), dies_at(step) {}
  int n = 0, dies_at = 0;
  ix::array_proxy<channel_cell> cells;

  ix::task<int> start(ix::runtime& rt) {
    cells = rt.create_array<channel_cell>(ix::index1d(n));
    auto rest = finish(dies_at);
    co_return co_await rest;
  }
  ix::task<int> restart(ix::runtime&) {
    auto rest = finish(0);
    co_return co_await rest;
  }
  ix::task<int> finish(int step) {
    cells.broadcast<&channel_cell::begin>(step);
    cells.broadcast<&channel_cell::run>();
    auto result = cells.reduction<std::uint64_t>();
    co_return co_await result == expected_of_ring(n) ? 0 : 1;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & n & dies_at & cells;
  }
};

TEST(restart, opens_channels_again_that_serialize_names) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 2}, {1, 3, 9, 100}, {3, 2, 12, 50, true}}) {
    SCOPED_TRACE("ended: " + to_text(s));
    folder_of_checkpoints at;
    ASSERT_NO_FATAL_FAILURE(end_with_a_checkpoint<channel_ring>(s, at, 7, 17));
    for (const job_shape& t : {job_shape{1, 1}, {4, 1}, {1, 2}, {2, 3, 7, 40}}) {
      SCOPED_TRACE("restarted: " + to_text(t));
      EXPECT_EQ(run_program<channel_ring>(t, {"--imbrex-restart=" + at.path()}, 7, 17), 0);
    }
  }
}

// ------------------------------------------------------------------------------------------------ phases

struct counter : ix::chare<counter> {
  int count = 0;
  void add(int n) { count += n; }
  int read() { return count; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & count;
  }
};

struct member : ix::chare<member, ix::index2d> {
  double sum = 0;
  std::vector<std::string> heard;
  ix::buffer<double> field;
  ix::hetero_object<int> coherent, large, slice, never_written;
  ix::hetero_grid<int> grid, tile;

  member()
      : field(on_host(), 5),
        coherent(3),
        large(5000),
        slice(large.slice(1000, 100)),
        never_written(10),
        grid({50, 100}),
        tile(grid.tile({10, 20}, {5, 4})) {
    const auto numbered = [](ix::tile_view<int> v) {
      for (std::size_t y = 0; y < v.extent(1); ++y)
        std::iota(v.row(y), v.row(y) + v.extent(0), static_cast<int>(100 * y));
    };
    ix::submit({}, numbered, ix::write(grid));
    std::fill_n(field.data(), 5, index().x);
    ix::submit({}, [](std::span<int> v) { std::fill(v.begin(), v.end(), 7); }, ix::write(coherent));
    ix::submit({}, [x = index().x](std::span<int> v) { std::iota(v.begin(), v.end(), x); }, ix::write(large));
  }
  void add(double x) { sum += x; }
  void say(std::string what) {
    heard.push_back(std::move(what));
    contribute(static_cast<int>(heard.size()), ix::sum);
  }
  void told(ix::section_proxy<member> s, int x) { contribute(s, x, ix::sum); }
  ix::task<bool> is_whole(int times_heard) {
    auto access = coherent.host(ix::access_mode::read);
    const auto view = co_await access;
    auto large_access = large.host(ix::access_mode::read);
    const auto all = co_await large_access;
    auto slice_access = slice.host(ix::access_mode::read);
    const auto some = co_await slice_access;
    for (int i = 0; i < 5000; ++i) {
      if (all[static_cast<std::size_t>(i)] != index().x + i) co_return false;
    }
    auto grid_access = grid.host(ix::access_mode::read);
    const auto of_grid = co_await grid_access;
    auto tile_access = tile.host(ix::access_mode::read);
    const auto of_tile = co_await tile_access;
    if (grid.extent().y != 100 || of_grid(49, 99) != 9949) co_return false;
    if (tile.extent().x != 5 || of_tile(0, 0) != 2010 || of_tile(4, 3) != 2314) co_return false;
    if (some.size() != 100 || some[99] != index().x + 1099 || never_written.size() != 10) co_return false;
    co_return field.size() == 5 && field.data()[4] == index().x&& view[2] == 7 &&
        heard.size() == static_cast<std::size_t>(times_heard);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & sum & heard & field & coherent & large & slice & never_written & grid & tile;
  }
};

struct group_member : ix::chare<group_member, ix::index1d> {
  int made_on = pe();
  int where() { return made_on; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & made_on;
  }
};

ix::readonly<std::string> greeting;
ix::readonly<int> from_command_line(1);

/// Arrays with elements inserted, moved and ended, sections, singletons, groups, read-only globals.
struct phases {
  ix::array_proxy<member> all, sparse;
  ix::array_proxy<group_member> group;
  ix::section_proxy<member> some, freed;
  std::vector<ix::element_proxy<counter>> counters;
  int num_groups = 0;
  int phase = 0;

  ix::task<int> start(ix::runtime& rt) {
    all = rt.create_array<member>(ix::index2d{4, 3});
    sparse = rt.create_array<member>(ix::empty_array<ix::index2d>());
    group = rt.create_group<group_member>();
    num_groups = rt.num_pes();
    for (int i = 0; i < 5; ++i) {
      auto inserted = sparse.insert({i, 2 * i});
      co_await std::move(inserted);
    }
    std::vector<ix::index2d> chosen{{0, 0}, {1, 2}, {3, 1}, {2, 2}};
    some = all.section(chosen);
    freed = all.section(chosen);
    freed.free();
    for (int i = 0; i < 7; ++i) counters.push_back(rt.create<counter>());
    for (std::size_t i = 0; i < counters.size(); ++i) {
      auto counted = counters[i].call<&counter::add>(static_cast<int>(i));
      co_await std::move(counted);
    }
    counters[3].send<&counter::destroy>();
    sparse[{2, 4}].send<&member::destroy>();
    for (int x = 0; x < 4; ++x) all[{x, x % 3}].send<&member::migrate_to>((x + 1) % rt.num_pes());
    auto shared = greeting.share("shared while it ran");
    co_await shared;
    all.broadcast<&member::say>("before");
    auto heard = all.reduction<int>();
    if (co_await heard != 12) co_return 1;
    phase = 1;
    auto made = rt.checkpoint();
    const std::string path = co_await made;
    if (!std::filesystem::exists(path + "/manifest")) co_return 2;
    auto rest = finish(rt);
    co_return co_await rest;
  }
  ix::task<int> restart(ix::runtime& rt) {
    if (phase != 1 || *greeting != "shared while it ran" || *from_command_line != 5) co_return 3;
    auto rest = finish(rt);
    co_return co_await rest;
  }
  /// All that can be done with what a checkpoint has.
  ix::task<int> finish(ix::runtime& rt) {
    all.broadcast<&member::say>("after");
    auto heard = all.reduction<int>();
    if (co_await heard != 24) co_return 10;
    some.broadcast<&member::told>(some, 100);
    auto told = some.reduction<int>();
    if (co_await told != 400) co_return 11;
    sparse.broadcast<&member::say>("sparse");
    auto sparse_heard = sparse.reduction<int>();
    if (co_await sparse_heard != 4) co_return 12;
    auto again = sparse.insert({2, 4});  // has ended before
    co_await std::move(again);
    auto more = sparse.insert({9, 9});
    co_await std::move(more);
    sparse.broadcast<&member::say>("more");
    auto more_heard = sparse.reduction<int>();
    if (co_await more_heard != 10) co_return 13;  // 2 of each of the 4, 1 of each of the 2
    for (std::size_t i = 0; i < counters.size(); ++i) {
      if (i == 3) continue;
      auto count = counters[i].call<&counter::read>();
      if (co_await std::move(count) != static_cast<int>(i)) co_return 14;
    }
    auto another = rt.create<counter>();
    auto added = another.call<&counter::add>(77);
    co_await std::move(added);
    auto count = another.call<&counter::read>();
    if (co_await std::move(count) != 77) co_return 15;
    auto of_zero = counters[0].call<&counter::read>();
    if (co_await std::move(of_zero) != 0) co_return 16;
    for (int i = 0; i < num_groups; ++i) {
      auto where = group[i].call<&group_member::where>();
      if (co_await std::move(where) != i) co_return 17;
    }
    auto fresh = rt.create_group<group_member>();
    for (int i = 0; i < rt.num_pes(); ++i) {
      auto where = fresh[i].call<&group_member::where>();
      if (co_await std::move(where) != i) co_return 18;
    }
    for (int x = 0; x < 4; ++x) {
      for (int y = 0; y < 3; ++y) {
        auto whole = all[{x, y}].call<&member::is_whole>(2);
        if (!co_await std::move(whole)) co_return 19;
      }
    }
    for (int x = 0; x < 4; ++x) all[{x, 0}].send<&member::migrate_to>((x + 2) % rt.num_pes());
    for (int k = 0; k < 40; ++k) {  // until the arrays have counted themselves again
      all.broadcast<&member::say>("often");
      auto often = all.reduction<int>();
      if (co_await often != 12 * (3 + k)) co_return 20;
    }
    std::vector<ix::index2d> others{{0, 1}, {1, 1}};
    auto section = all.section(others);
    section.broadcast<&member::told>(section, 1);
    auto both = section.reduction<int>();
    if (co_await both != 2) co_return 21;
    co_return 0;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & all & sparse & group & some & freed & counters & num_groups & phase;
  }
};

TEST(restart, brings_back_all_kinds_of_collections) {
  for (const job_shape& s : real_shapes()) {
    SCOPED_TRACE("written: " + to_text(s));
    folder_of_checkpoints at;
    ASSERT_EQ(run_program<phases>(s, {at.option()}), 0);
    from_command_line.set(5);
    for (const job_shape& t : real_shapes()) {
      SCOPED_TRACE("restarted: " + to_text(t));
      EXPECT_EQ(run_program<phases>(t, {"--imbrex-restart=" + at.path()}), 0);
    }
    from_command_line.set(1);
  }
}

// ------------------------------------------------------------------------------------------------ signals

struct signalled : ring {
  using ring::ring;
  ix::task<int> start(ix::runtime& rt) {
    std::raise(n);  // whose number is that of the ring's cells
    auto rest = ring::start(rt);
    co_return co_await rest;
  }
  ix::task<int> restart(ix::runtime& rt) {
    auto rest = ring::restart(rt);
    co_return co_await rest;
  }
};

TEST(checkpoint_signals, sigusr1_makes_one_and_the_job_goes_on) {
  folder_of_checkpoints at;
  EXPECT_EQ(run_program<signalled>({2, 2}, {at.option(), "--imbrex-checkpoint-every=0"}, SIGUSR1, 0), 0);
  EXPECT_EQ(at.num_checkpoints(), 1);
}

TEST(checkpoint_signals, sigterm_makes_one_and_ends_the_job) {
  folder_of_checkpoints at;
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_program<signalled>({2, 1}, {at.option(), "--imbrex-checkpoint-every=0"}, SIGTERM, 0), 128 + SIGTERM);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("ends by a signal"));
  EXPECT_EQ(at.num_checkpoints(), 1);
  EXPECT_EQ(run_program<ring>({3, 1}, {"--imbrex-restart=" + at.path()}, SIGTERM, 0), 0);
}

/// Of which no checkpoint can be made, since a future is no state.
struct undecided : ix::chare<undecided, ix::index1d> {
  ix::task<> run() {
    ix::future<int> never;
    for (int step = 0; step < 1000; ++step) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      co_await ix::checkpoint_point(*this);
    }
    contribute(1, ix::sum);
  }
  template <class Archive>
  void serialize(Archive&) {}
};
struct never_kept {
  ix::task<int> start(ix::runtime& rt) {
    auto all = rt.create_array<undecided>(2);
    all.broadcast<&undecided::run>();
    std::raise(SIGTERM);
    co_await all.reduction<int>();
    co_return 0;
  }
  ix::task<int> restart(ix::runtime&) { co_return 0; }
  template <class Archive>
  void serialize(Archive&) {}
};

TEST(checkpoint_signals, sigterm_ends_the_job_though_no_checkpoint_can_be_made) {
  folder_of_checkpoints at;
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_program<never_kept>({2, 1}, {at.option(), "--imbrex-checkpoint-every=0"}), 128 + SIGTERM);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::HasSubstr("no checkpoint could be made in 5 s"));
  EXPECT_EQ(said.find("no checkpoint was made"), said.rfind("no checkpoint was made")) << "once: " << said;
  EXPECT_EQ(at.num_checkpoints(), 0);
}

}  // namespace

}  // namespace restart_test

#include "imbrex/comm/data/data_mover.h"

#include <gtest/gtest.h>

#include "imbrex/base/error.h"
#include "unit/async/bare_pe.h"

namespace data_mover_test {

namespace {

using namespace imbrex;
using path = remote_data::path;
using way = protocol_table::way;

constexpr memory_kind host = memory_kind::host, gpu = memory_kind::device;

/// Says what it reaches, and does nothing.
struct silent_transport final : transport {
  explicit silent_transport(bool takes_gpu_memory) : takes_gpu_memory_(takes_gpu_memory) {}
  rank_id rank() const override { return 0; }
  int num_ranks() const override { return 3; }
  std::string name() const override { return "silent"; }
  void start(const delivery&) override {}
  void send(rank_id, wire_message*) override {}
  bool poll() override { return false; }
  bool needs_polling() const override { return false; }
  bool reaches(memory_kind kind) const override { return kind != gpu || takes_gpu_memory_; }
  void send_data(rank_id, pe_id, std::uint64_t, const data_view&, transfer*) override {}
  void recv_data(rank_id, std::uint64_t, const data_view&, transfer*) override {}
  job_end stop(const job_end& mine) override { return mine; }
  std::vector<std::vector<std::byte>> all_gather(const std::vector<std::byte>&) override { return {}; }
  [[noreturn]] void abort(int) override { throw comm_error("aborted"); }

 private:
  const bool takes_gpu_memory_;
};

/// Ranks 0 and 1 share a machine, 2 is elsewhere.
struct choice {
  choice(bool takes_gpu_memory, const protocol_table& table)
      : network(takes_gpu_memory), mover(pe.queue, network, 0, 0, sharing, table) {}
  path of(memory_kind kind, std::uint64_t bytes, rank_id to) const { return mover.choose(kind, bytes, to, kind); }

  imbrex_test::bare_pe pe;
  silent_transport network;
  const memory_sharing sharing{{true, true, false}, {true, true, false}};
  data_mover mover;
};

protocol_table three_steps() {
  protocol_table t;
  t.packed_host_bytes = 100;
  t.packed_device_bytes = 10;
  t.staged_device_bytes = 1000;
  t.unshared_device_bytes = 2000;
  return t;
}

TEST(data_mover, host_memory_goes_by_one_size) {
  const choice c(true, three_steps());
  EXPECT_EQ(c.of(host, 0, 1), path::none);
  EXPECT_EQ(c.of(host, 100, 1), path::none);
  EXPECT_EQ(c.of(host, 101, 1), path::whole);
  EXPECT_EQ(c.of(host, 101, 2), path::whole);
}

TEST(data_mover, gpu_memory_goes_by_size_place_and_transport) {
  const choice aware(true, three_steps());
  for (const rank_id to : {1, 2}) {
    EXPECT_EQ(aware.of(gpu, 10, to), path::none);
    EXPECT_EQ(aware.of(gpu, 11, to), path::chunks);
    EXPECT_EQ(aware.of(gpu, 1000, to), path::chunks);
    EXPECT_EQ(aware.of(gpu, 1001, to), path::whole);
    EXPECT_EQ(aware.of(gpu, 2000, to), path::whole);
  }
  EXPECT_EQ(aware.of(gpu, 2001, 1), path::shared);
  EXPECT_EQ(aware.of(gpu, 2001, 2), path::whole);
  const choice unaware(false, three_steps());
  EXPECT_EQ(unaware.of(gpu, 1001, 1), path::chunks);
  EXPECT_EQ(unaware.of(gpu, 2001, 1), path::shared);
  EXPECT_EQ(unaware.of(gpu, 2001, 2), path::chunks);
}

TEST(data_mover, built_in_sizes_take_the_shortest_way_at_once) {
  const protocol_table t;
  EXPECT_EQ(choice(true, t).of(gpu, t.packed_device_bytes + 1, 1), path::shared);
  EXPECT_EQ(choice(true, t).of(gpu, t.packed_device_bytes + 1, 2), path::whole);
  EXPECT_EQ(choice(false, t).of(gpu, t.packed_device_bytes + 1, 2), path::chunks);
}

TEST(data_mover, goes_by_another_table_from_now_on) {
  choice c(true, three_steps());
  protocol_table t = three_steps();
  t.packed_host_bytes = 5;
  t.unshared_device_bytes = protocol_table::always;
  c.mover.use(t);
  EXPECT_EQ(c.mover.protocols(), t);
  EXPECT_EQ(c.of(host, 6, 1), path::whole);
  EXPECT_EQ(c.of(gpu, 1 << 30, 1), path::whole);
  EXPECT_FALSE(c.mover.travels_packed(host, 6));
  for (const auto& [by, expected] : {std::pair{way::packed, path::none},
                                     {way::staged, path::chunks},
                                     {way::direct, path::whole},
                                     {way::shared, path::shared}}) {
    t.forced = by;
    c.mover.use(t);
    EXPECT_EQ(c.of(gpu, 500, 1), expected) << to_string(by);
  }
}

}  // namespace

}  // namespace data_mover_test

#include "imbrex/comm/loopback/loopback_transport.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/hash.h"

namespace imbrex {
namespace loopback_transport_test {
namespace {

void drop_message(work* item, work_action) { wire_message::destroy(static_cast<wire_message*>(item)); }

wire_message* message(pe_id from, pe_id to, std::uint64_t number, std::size_t size = 8) {
  wire_message* m = wire_message::make(size);
  m->header.from = from;
  m->header.to = to;
  std::memset(m->payload(), static_cast<int>(number & 0xff), size);
  std::memcpy(m->payload(), &number, sizeof number);
  return m;
}

std::uint64_t number_of(const wire_message& m) {
  std::uint64_t number = 0;
  std::memcpy(&number, m.payload(), sizeof number);
  return number;
}

/// One rank with its PEs' executors, whose work the test takes by hand.
struct fake_rank {
  fake_rank(std::shared_ptr<loopback_network> network, rank_id rank, int num_pes)
      : comm(std::move(network), rank), first_pe(rank * num_pes) {
    for (int i = 0; i < num_pes; ++i) pes.push_back(std::make_unique<executor>());
  }
  ~fake_rank() {
    for (auto& pe : pes) {
      pe->collect();
      while (work* item = pe->next()) item->act(item, work_action::discard);
    }
  }
  void start() {
    delivery to{.first_pe = first_pe, .pes = {}, .act = &drop_message};
    for (auto& pe : pes) to.pes.push_back(pe.get());
    comm.start(to);
  }
  wire_message* take(int pe = 0) {
    pes[static_cast<std::size_t>(pe)]->collect();
    return static_cast<wire_message*>(pes[static_cast<std::size_t>(pe)]->next());
  }

  loopback_transport comm;
  pe_id first_pe;
  std::vector<std::unique_ptr<executor>> pes;
};

struct two_ranks {
  explicit two_ranks(const loopback_options& options = {}, int num_pes = 1)
      : network(std::make_shared<loopback_network>(2, options)), a(network, 0, num_pes), b(network, 1, num_pes) {}

  /// Stops both, as two threads do; the exception of `b`'s side, if any, comes back.
  std::string stop(bool a_failed = false) {
    std::thread other([this, a_failed] { a_end = a.comm.stop({a_failed, a_failed ? 70 : 3}); });
    std::string what;
    try {
      b_end = b.comm.stop({false, 4});
    } catch (const comm_error& e) {
      what = e.what();
    }
    other.join();
    return what;
  }

  std::shared_ptr<loopback_network> network;
  fake_rank a;
  fake_rank b;
  job_end a_end;
  job_end b_end;
};

TEST(loopback_transport, copies_header_and_payload_into_the_inbox_of_the_pe) {
  two_ranks ranks({}, 2);
  ranks.b.start();
  EXPECT_FALSE(ranks.b.comm.needs_polling());
  wire_message* sent = message(0, 3, 77, 1000);
  sent->header.handler = 42;
  sent->header.level = -4;
  sent->header.flow = 9;
  ranks.a.comm.send(1, sent);
  EXPECT_EQ(ranks.b.take(0), nullptr);
  wire_message* got = ranks.b.take(1);
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(got->header.size, 1000u);
  EXPECT_EQ(got->header.handler, 42u);
  EXPECT_EQ(got->header.flow, 9u);
  EXPECT_EQ(got->level, -4);
  EXPECT_EQ(got->act, &drop_message);
  EXPECT_EQ(number_of(*got), 77u);
  EXPECT_EQ(got->payload()[999], std::byte{77});
  wire_message::destroy(got);
  EXPECT_EQ(ranks.stop(), "");
}

TEST(loopback_transport, keeps_what_arrives_before_start) {
  for (const std::int64_t delay : {0, 100}) {
    two_ranks ranks(loopback_options{.max_delay_us = delay});
    for (std::uint64_t i = 0; i < 10; ++i) ranks.a.comm.send(1, message(0, 1, i));
    ranks.b.comm.poll();
    EXPECT_EQ(ranks.b.take(), nullptr);
    ranks.b.start();
    for (std::uint64_t i = 0; i < 10;) {
      ranks.b.comm.poll();
      wire_message* m = ranks.b.take();
      if (m == nullptr) continue;
      EXPECT_EQ(number_of(*m), i++);
      wire_message::destroy(m);
    }
    EXPECT_EQ(ranks.stop(), "");
  }
}

// Several PE threads per rank, all sending to all PEs of all other ranks and receiving at the same time.
void all_to_all(const loopback_options& options, int num_ranks, int num_pes, std::uint64_t num_messages,
                bool* any_overtaking = nullptr) {
  auto network = std::make_shared<loopback_network>(num_ranks, options);
  std::vector<std::unique_ptr<fake_rank>> ranks;
  for (rank_id r = 0; r < num_ranks; ++r) ranks.push_back(std::make_unique<fake_rank>(network, r, num_pes));
  std::atomic<int> num_wrong{0};
  std::atomic<int> num_overtaken{0};
  const auto pe_body = [&](pe_id me) {
    fake_rank& mine = *ranks[static_cast<std::size_t>(me / num_pes)];
    executor& inbox = *mine.pes[static_cast<std::size_t>(me % num_pes)];
    executor::set_current(&inbox);
    random_sequence random(static_cast<std::uint64_t>(me) + 1);
    std::map<pe_id, std::uint64_t> next;
    std::uint64_t left = num_messages * static_cast<std::uint64_t>((num_ranks - 1) * num_pes);
    std::uint64_t newest_turn = 0;
    const auto receive = [&] {
      mine.comm.poll();
      inbox.collect();
      while (auto* m = static_cast<wire_message*>(inbox.next())) {
        if (number_of(*m) != next[m->header.from]++) ++num_wrong;
        if (m->header.flow < newest_turn) ++num_overtaken;
        newest_turn = m->header.flow;
        wire_message::destroy(m);
        --left;
      }
    };
    for (std::uint64_t i = 0; i < num_messages; ++i) {
      for (pe_id to = 0; to < num_ranks * num_pes; ++to) {
        if (to / num_pes == me / num_pes) continue;
        wire_message* m = message(me, to, i, 8 + random.below(200));
        m->header.flow = i;
        mine.comm.send(to / num_pes, m);
      }
      receive();
    }
    while (left > 0) {
      receive();
      sched_yield();
    }
    executor::set_current(nullptr);
  };
  const auto rank_body = [&](rank_id r) {
    ranks[static_cast<std::size_t>(r)]->start();
    std::vector<std::thread> pes;
    for (int i = 0; i < num_pes; ++i) pes.emplace_back(pe_body, r * num_pes + i);
    for (std::thread& pe : pes) pe.join();
    EXPECT_NO_THROW(ranks[static_cast<std::size_t>(r)]->comm.stop({}));
  };
  std::vector<std::thread> processes;
  for (rank_id r = 0; r < num_ranks; ++r) processes.emplace_back(rank_body, r);
  for (std::thread& p : processes) p.join();
  EXPECT_EQ(num_wrong, 0);
  if (any_overtaking != nullptr) *any_overtaking = num_overtaken > 0;
}

TEST(loopback_transport, many_threads_keep_the_order_of_each_pair) { all_to_all({}, 3, 2, 200); }

TEST(loopback_transport, delays_keep_the_order_of_each_pair) {
  all_to_all(loopback_options{.seed = 5, .max_delay_us = 200}, 2, 2, 200);
}

TEST(loopback_transport, reordering_keeps_the_order_of_each_pair_and_lets_others_overtake) {
  bool any_overtaking = false;
  all_to_all(loopback_options{.seed = 7, .max_delay_us = 300, .reorder = true}, 3, 2, 200, &any_overtaking);
  EXPECT_TRUE(any_overtaking);
}

TEST(loopback_transport, without_reorder_nothing_overtakes_between_two_ranks) {
  two_ranks ranks(loopback_options{.max_delay_us = 50}, 2);
  ranks.b.start();
  for (std::uint64_t i = 0; i < 100; ++i) ranks.a.comm.send(1, message(static_cast<pe_id>(i % 2), 2, i));
  for (std::uint64_t i = 0; i < 100;) {
    ranks.b.comm.poll();
    while (wire_message* m = ranks.b.take()) {
      EXPECT_EQ(number_of(*m), i++);
      wire_message::destroy(m);
    }
  }
  EXPECT_EQ(ranks.stop(), "");
}

TEST(loopback_transport, a_big_message_arrives_whole) {
  constexpr std::size_t size = (std::size_t{1} << 26) + 13;
  two_ranks ranks;
  ranks.b.start();
  ranks.a.comm.send(1, message(0, 1, 0xab, size));
  wire_message* m = ranks.b.take();
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(m->header.size, size);
  EXPECT_EQ(m->payload()[size / 2], std::byte{0xab});
  EXPECT_EQ(m->payload()[size - 1], std::byte{0xab});
  wire_message::destroy(m);
  EXPECT_EQ(ranks.stop(), "");
}

// Sends ten messages and polls until an error comes or everything has been delivered for a while.
std::string noticed(two_ranks& ranks) {
  ranks.b.start();
  for (std::uint64_t i = 0; i < 10; ++i) ranks.a.comm.send(1, message(0, 1, i));
  const std::int64_t end = now_ns() + 50'000'000;
  try {
    while (now_ns() < end) ranks.b.comm.poll();
  } catch (const comm_error& e) {
    return e.what();
  }
  return "";
}

TEST(loopback_transport, a_lost_message_is_noticed_by_the_next_one) {
  two_ranks ranks(loopback_options{.fault = loopback_fault::drop, .fault_every = 4});
  EXPECT_TRUE(ranks.b.comm.needs_polling());
  EXPECT_EQ(noticed(ranks),
            "message 4 from pe 0 to pe 1 arrived on rank 1 where number 3 was due: one was lost or overtaken");
  EXPECT_EQ(ranks.stop(true), "") << "a job that failed does not complain of what it lost";
}

TEST(loopback_transport, a_message_that_comes_twice_is_noticed) {
  two_ranks ranks(loopback_options{.fault = loopback_fault::duplicate, .fault_every = 4});
  EXPECT_EQ(noticed(ranks),
            "message 3 from pe 0 to pe 1 arrived on rank 1 where number 4 was due: it came twice or late");
}

TEST(loopback_transport, messages_of_a_pair_that_change_places_are_noticed) {
  two_ranks ranks(loopback_options{.max_delay_us = 20, .fault = loopback_fault::swap, .fault_every = 4});
  EXPECT_EQ(noticed(ranks),
            "message 4 from pe 0 to pe 1 arrived on rank 1 where number 3 was due: one was lost or overtaken");
}

TEST(loopback_transport, stop_notices_a_loss_that_nothing_followed) {
  two_ranks ranks(loopback_options{.fault = loopback_fault::drop, .fault_every = 10});
  EXPECT_EQ(noticed(ranks), "");
  EXPECT_EQ(ranks.stop(), "10 messages went from pe 0 to pe 1, but 9 arrived on rank 1");
}

TEST(loopback_transport, stop_discards_what_is_on_the_way) {
  two_ranks ranks(loopback_options{.max_delay_us = 10'000'000, .reorder = true}, 2);
  ranks.b.start();
  for (std::uint64_t i = 0; i < 100; ++i) {
    ranks.a.comm.send(1, message(static_cast<pe_id>(i % 2), 2 + static_cast<pe_id>(i / 2 % 2), i));
  }
  EXPECT_EQ(ranks.stop(), "");
  EXPECT_FALSE(ranks.b.comm.poll());
}

TEST(loopback_transport, ranks_agree_on_the_end_of_the_lowest_one) {
  two_ranks ranks;
  EXPECT_EQ(ranks.stop(), "");
  EXPECT_EQ(ranks.a_end, (job_end{false, 3}));
  EXPECT_EQ(ranks.b_end, ranks.a_end);
}

TEST(loopback_transport, ranks_agree_on_a_failure_of_any) {
  two_ranks ranks;
  EXPECT_EQ(ranks.stop(true), "");
  EXPECT_EQ(ranks.a_end, (job_end{true, 70}));
  EXPECT_EQ(ranks.b_end, ranks.a_end);
}

TEST(loopback_transport, a_loss_that_one_rank_notices_at_the_end_is_a_failure_for_all) {
  two_ranks ranks(loopback_options{.fault = loopback_fault::drop, .fault_every = 10});
  EXPECT_EQ(noticed(ranks), "");
  EXPECT_NE(ranks.stop(), "");
  EXPECT_EQ(ranks.a_end, (job_end{true, 1}));
}

TEST(loopback_transport, all_gather_brings_everyones_bytes_round_after_round) {
  constexpr int num_ranks = 4;
  auto network = std::make_shared<loopback_network>(num_ranks);
  std::vector<std::thread> threads;
  for (rank_id r = 0; r < num_ranks; ++r) {
    threads.emplace_back([network, r] {
      loopback_transport comm(network, r);
      for (int round = 0; round < 50; ++round) {
        const auto all = comm.all_gather(std::vector<std::byte>(static_cast<std::size_t>(r), std::byte(round)));
        ASSERT_EQ(all.size(), static_cast<std::size_t>(network->num_ranks()));
        for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], std::vector<std::byte>(i, std::byte(round)));
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(loopback_transport, wrong_destinations_are_errors) {
  two_ranks ranks;
  ranks.b.start();
  EXPECT_THROW(ranks.a.comm.send(0, message(0, 0, 0)), comm_error);
  EXPECT_THROW(ranks.a.comm.send(2, message(0, 2, 0)), comm_error);
  EXPECT_THROW(ranks.a.comm.send(1, message(0, 5, 0)), comm_error);
}

TEST(loopback_network, contradicting_options_are_errors) {
  EXPECT_THROW(loopback_network(0), usage_error);
  EXPECT_THROW(loopback_network(2, loopback_options{.max_delay_us = -1}), usage_error);
  EXPECT_THROW(loopback_network(2, loopback_options{.reorder = true}), usage_error);
  EXPECT_THROW(loopback_network(2, loopback_options{.fault = loopback_fault::drop}), usage_error);
  EXPECT_THROW(loopback_transport(std::make_shared<loopback_network>(2), 2), usage_error);
}

}  // namespace
}  // namespace loopback_transport_test
}  // namespace imbrex

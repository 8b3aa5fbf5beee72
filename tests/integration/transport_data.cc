// Data that goes by (rank, id) into memory that its receiver names.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "imbrex/base/hash.h"
#include "imbrex/base/serialize.h"
#include "transport_test.h"

namespace transport_test {

namespace {

constexpr std::uint64_t data_sizes[] = {0, 1, 8, 8192, 1'000'000, 5'000'001, 8, 300, 100'000, 8};

void run_posted(executor& inbox) {
  inbox.collect();
  while (work* item = inbox.next()) item->act(item, work_action::run);
}

/// Every PE sends every PE of the other ranks all sizes at once, and gets as much; receives come before or after.
void exchange_data(transport& comm, executor& inbox, pe_id me, int num_pes) {
  const pe_id all_pes = comm.num_ranks() * num_pes;
  constexpr std::uint64_t count = std::size(data_sizes);
  const auto id_of = [&](pe_id from, pe_id to, std::uint64_t k) {
    return (static_cast<std::uint64_t>(from * all_pes + to) * count + k) | std::uint64_t{1} << 43;
  };
  std::vector<std::unique_ptr<movement>> sent;
  std::vector<std::unique_ptr<movement>> received;
  const auto send_all = [&](pe_id to) {
    for (std::uint64_t k = 0; k < count; ++k) {
      movement& m = *sent.emplace_back(std::make_unique<movement>(inbox, data_sizes[k], id_of(me, to, k)));
      m.fill();
      comm.send_data(to / num_pes, to, m.seed, m.view(), &m);
    }
  };
  const auto receive_all = [&](pe_id from) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t k = from % 2 == 0 ? i : count - 1 - i;
      movement& m = *received.emplace_back(std::make_unique<movement>(inbox, data_sizes[k], id_of(from, me, k)));
      comm.recv_data(from / num_pes, m.seed, m.view(), &m);
    }
  };
  for (pe_id other = 0; other < all_pes; ++other) {
    if (other / num_pes == comm.rank()) continue;
    const bool send_first = (me + other) % 3 != 0;
    if (send_first) send_all(other);
    if (me % 2 == 0) {
      const std::int64_t until = now_ns() + 20'000'000;
      while (now_ns() < until) comm.poll();
    }
    receive_all(other);
    if (!send_first) send_all(other);
  }
  const auto all_over = [](const auto& list) {
    return std::all_of(list.begin(), list.end(), [](const auto& m) { return m->over; });
  };
  while (!all_over(sent) || !all_over(received)) {
    if (!comm.poll()) sched_yield();
    run_posted(inbox);
  }
  for (const auto& m : received) {
    check(m->intact(), fmt::format("intact data {} of {} bytes", m->seed, m->memory.size()));
  }
}

}  // namespace

/// The job ends while the receiver knows that its data are here, and the sender, which is busy, does not yet; some were
/// never asked for, some never sent.
void data_stop() {
  const auto made = make_transport();
  transport& comm = *made;
  std::vector<executor> inboxes = start(comm, 1);
  executor& inbox = inboxes.front();
  executor::set_current(&inbox);
  constexpr std::uint64_t count = 120;
  constexpr std::uint64_t size = 300'000;
  std::vector<std::unique_ptr<movement>> all;
  const auto next = [&](std::uint64_t id) -> movement& {
    return *all.emplace_back(std::make_unique<movement>(inbox, size, id));
  };
  const rank_id other = comm.rank() ^ 1;
  if (other < comm.num_ranks() && comm.rank() % 2 == 0) {
    for (std::uint64_t i = 0; i < count; ++i) {
      movement& m = next(i);
      m.fill();
      comm.send_data(other, other, i, m.view(), &m);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // a long kernel
  } else if (other < comm.num_ranks()) {
    for (std::uint64_t i = 2; i < count + 2; ++i) {
      movement& m = next(i);
      comm.recv_data(other, i, m.view(), &m);
    }
    const std::int64_t until = now_ns() + 100'000'000;
    while (now_ns() < until) poll_or_yield(comm);
  }
  executor::set_current(nullptr);
  comm.stop({});
  run_posted(inbox);
  if (comm.rank() % 2 != 0) {
    for (std::uint64_t i = 0; i + 2 < count; ++i) {
      check(all[i]->over && all[i]->intact(), fmt::format("data {} before the end", i));
    }
  }
}

void data() {
  constexpr int num_pes = 2;
  const auto made = make_transport();
  transport& comm = *made;
  std::vector<std::byte> registered(1 << 20);
  comm.add_memory({.data = registered.data(), .bytes = registered.size()});
  on_all_pes(comm, num_pes, [&](executor& inbox, pe_id me) { exchange_data(comm, inbox, me, num_pes); });
  comm.forget_memory(registered.data());
}

/// Data that one side gives 8 bytes and the other 16, or that one side alone names. The second must not keep a job from
/// ending; the first is an error where the transport sees sizes.
void mismatch() {
  const auto made = make_transport();
  transport& comm = *made;
  bool noticed = false;
  std::vector<std::unique_ptr<movement>> moving;  // until all are posted
  on_all_pes(comm, 1, [&](executor& inbox, pe_id me) {
    const auto move = [&](std::uint64_t size) -> movement& {
      return *moving.emplace_back(std::make_unique<movement>(inbox, size, 1));
    };
    const auto send = [&](std::uint64_t id, movement& m) { comm.send_data(1, 1, id, m.view(), &m); };
    const auto recv = [&](std::uint64_t id, movement& m) { comm.recv_data(0, id, m.view(), &m); };
    if (me == 0) {
      send(1, move(8));
      send(2, move(8));
      send(3, move(1'000'000));
    } else {
      recv(1, move(16));
      recv(4, move(8));
    }
    const std::int64_t until = now_ns() + 1'000'000'000;
    while (now_ns() < until) {
      try {
        comm.poll();
      } catch (const comm_error& e) {
        noticed = std::string(e.what()).find("8 bytes") != std::string::npos;
        fmt::print("as expected: {}\n", e.what());
      }
    }
  });
  check(comm.rank() != 1 || noticed, "the receiver to notice the two sizes");
  for (const auto& m : moving) check(m->over, "every transfer to be posted in the end");
}

}  // namespace transport_test

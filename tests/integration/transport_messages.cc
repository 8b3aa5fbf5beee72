// Messages: order, sizes, floods, the end of a job.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "imbrex/base/clock.h"
#include "imbrex/base/hash.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/base/serialize.h"
#include "imbrex/comm/mpi/mpi_transport.h"
#include "transport_test.h"

namespace transport_test {

namespace {

/// The payload: its number within the pair of PEs, a checksum of the rest, random bytes.
wire_message* numbered_message(pe_id from, pe_id to, std::uint32_t handler, std::uint64_t number, std::uint64_t size) {
  wire_message* m = wire_message::make(size < 16 ? 16 : size);
  m->header.from = from;
  m->header.to = to;
  m->header.handler = handler;
  auto* rest = reinterpret_cast<char*>(m->payload()) + 16;
  const std::uint64_t rest_size = m->header.size - 16;
  random_sequence random(number + static_cast<std::uint64_t>(from) * 1000);
  for (std::uint64_t i = 0; i < rest_size; ++i) rest[i] = static_cast<char>(i % 512 == 0 ? random.next() : i);
  const std::uint64_t checksum = hash_bytes(std::string_view(rest, rest_size));
  std::memcpy(m->payload(), &number, 8);
  std::memcpy(m->payload() + 8, &checksum, 8);
  return m;
}

std::uint64_t checked_number(const wire_message& m) {
  std::uint64_t number = 0;
  std::uint64_t checksum = 0;
  std::memcpy(&number, m.payload(), 8);
  std::memcpy(&checksum, m.payload() + 8, 8);
  const std::string_view rest(reinterpret_cast<const char*>(m.payload()) + 16, m.header.size - 16);
  check(checksum == hash_bytes(rest), fmt::format("an intact message {} of {} bytes", number, m.header.size));
  return number;
}

// Mostly small, some at the border of what travels in one piece, some large.
std::uint64_t random_size(random_sequence& random) {
  const std::uint64_t kind = random.below(10);
  if (kind < 6) return random.below(200);
  if (kind < 8) return random.below(8192);
  if (kind < 9) return 8192 - sizeof(wire_header) - 2 + random.below(5);
  return random.below(300'000);
}

struct pe {
  transport& comm;
  int num_pes;
  pe_id me;
  executor& inbox;
  rank_end& end;
  std::vector<std::uint64_t> num_received{};
  int num_open = 0;
  std::string failure{};

  void receive() {
    comm.poll();
    inbox.collect();
    while (auto* m = static_cast<wire_message*>(inbox.next())) {
      const std::uint64_t number = checked_number(*m);
      std::uint64_t& expected = num_received[static_cast<std::size_t>(m->header.from)];
      check(m->header.to == me, "a message at the PE that it names");
      check(number == expected, fmt::format("message {} of pe {}, not {}", expected, m->header.from, number));
      ++expected;
      if (m->header.handler == is_last) --num_open;
      wire_message::destroy(m);
    }
  }

  void exchange(std::uint64_t num_messages) {
    const int all_pes = comm.num_ranks() * num_pes;
    num_received.resize(static_cast<std::size_t>(all_pes));
    num_open = all_pes - num_pes;
    std::vector<std::uint64_t> num_sent(static_cast<std::size_t>(all_pes));
    random_sequence random(static_cast<std::uint64_t>(me) + 99);
    const auto send = [&](pe_id to, std::uint32_t handler) {
      std::uint64_t& number = num_sent[static_cast<std::size_t>(to)];
      comm.send(to / num_pes, numbered_message(me, to, handler, number, random_size(random)));
      ++number;
    };
    for (std::uint64_t i = 0; i < num_messages && num_open > 0; ++i) {
      const auto to = static_cast<pe_id>(random.below(static_cast<std::uint64_t>(all_pes)));
      if (to / num_pes != comm.rank()) send(to, is_data);
      if (i % 8 == 0) receive();
    }
    for (pe_id to = 0; to < all_pes; ++to) {
      if (to / num_pes != comm.rank()) send(to, is_last);
    }
    while (num_open > 0) {
      receive();
      sched_yield();
    }
  }

  void run(std::uint64_t num_messages) {
    executor::set_current(&inbox);
    try {
      exchange(num_messages);
      end.meet([this] { receive(); });
    } catch (const error& e) {
      failure = e.what();
      fmt::print(stderr, "pe {}: {}\n", me, failure);
      comm.abort(1);
    }
    executor::set_current(nullptr);
  }
};

double available_gib() {
  std::ifstream in("/proc/meminfo");
  for (std::string name; in >> name;) {
    double kib = 0;
    if (name == "MemAvailable:" && in >> kib) return kib / (1 << 20);
  }
  return 0;
}

}  // namespace

void traffic() {
  constexpr int num_pes = 3;
  constexpr std::uint64_t num_messages = 2000;
  const auto made = make_transport();
  transport& comm = *made;
  check(mpi_transport::launched_by_mpi() || comm.num_ranks() == 1, "a launcher that is recognised");
  const auto ranks = comm.all_gather(to_bytes(comm.rank()));
  for (std::size_t i = 0; i < ranks.size(); ++i) check(ranks[i] == to_bytes(static_cast<rank_id>(i)), "rank order");
  std::vector<executor> inboxes = start(comm, num_pes);
  std::vector<slab> slabs(num_pes);
  rank_end end{num_pes};
  std::vector<std::thread> threads;
  for (int i = 0; i < num_pes; ++i) {
    threads.emplace_back([&, i] {
      slabs[static_cast<std::size_t>(i)].bind_to_this_thread();
      pe{comm, num_pes, comm.rank() * num_pes + i, inboxes[static_cast<std::size_t>(i)], end}.run(num_messages);
      slab::unbind_this_thread();
    });
  }
  for (std::thread& t : threads) t.join();
  comm.stop({});
  comm.all_gather({});
}

// MPI is the test's own here, so that several transports can follow each other.
void stop() {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  for (const bool failed : {false, true}) {
    const auto made = make_transport();
    transport& comm = *made;
    std::vector<executor> inboxes = start(comm, 1);
    executor::set_current(inboxes.data());
    random_sequence random(static_cast<std::uint64_t>(comm.rank()));
    for (std::uint64_t i = 0; i < 500; ++i) {
      const auto to = static_cast<rank_id>(i % static_cast<std::uint64_t>(comm.num_ranks()));
      if (to != comm.rank()) comm.send(to, numbered_message(comm.rank(), to, is_data, i, random_size(random)));
      if (i % 64 == 0) comm.poll();
    }
    const job_end mine =
        failed && comm.rank() == comm.num_ranks() - 1 ? job_end{true, 70} : job_end{false, comm.rank()};
    check(comm.stop(mine) == (failed ? job_end{true, 70} : job_end{false, 0}), "all ranks to agree on the end");
    executor::set_current(nullptr);
    const auto all = comm.all_gather(std::vector<std::byte>(100'000 * static_cast<std::size_t>(comm.rank())));
    check(all.back().size() == 100'000 * (all.size() - 1), "all_gather to work after stop");
    discard_all(inboxes);
  }
  MPI_Finalize();
}

// Pieces of 1 GiB: a size with two whole ones and a rest. A small message sent after it must not overtake it.
void large(std::uint64_t size) {
  const double needed = 16.0 * static_cast<double>(size) / 3e9;
  if (available_gib() < needed) {
    fmt::print("skipped: {:.1f} GiB of memory available, {:.1f} needed\n", available_gib(), needed);
    return;
  }
  const auto made = make_transport();
  transport& comm = *made;
  std::vector<executor> inboxes = start(comm, 1);
  executor& inbox = inboxes.front();
  executor::set_current(&inbox);
  const auto word = [](std::uint64_t i) { return mix(i); };
  if (comm.rank() == 0) {
    wire_message* m = wire_message::make(size);
    m->header.from = 0;
    m->header.to = 1;
    m->header.handler = is_data;
    for (std::uint64_t i = 0; i < size / 8; ++i) reinterpret_cast<std::uint64_t*>(m->payload())[i] = word(i);
    const std::int64_t begin = now_ns();
    comm.send(1, m);
    comm.send(1, numbered_message(0, 1, is_last, 1, 100));
    while (!inbox.has_ready()) poll_or_yield(comm);
    const auto ns = static_cast<double>(now_ns() - begin);
    fmt::print("{} bytes in {:.2f} s: {:.2f} GB/s\n", size, ns * 1e-9, static_cast<double>(size) / ns);
  } else if (comm.rank() == 1) {
    const auto next = [&](std::uint32_t expected) {
      wire_message* m = nullptr;
      while ((m = static_cast<wire_message*>(inbox.next())) == nullptr) poll_or_yield(comm);
      check(m->header.handler == expected, "the large message before the small one");
      return m;
    };
    wire_message* m = next(is_data);
    wire_message::destroy(next(is_last));
    comm.send(0, numbered_message(1, 0, is_last, 0, 100));
    check(m->header.size == size, fmt::format("{} bytes, not {}", size, m->header.size));
    std::uint64_t num_wrong = 0;
    for (std::uint64_t i = 0; i < size / 8; ++i) {
      num_wrong += reinterpret_cast<std::uint64_t*>(m->payload())[i] != word(i) ? 1 : 0;
    }
    check(num_wrong == 0, fmt::format("intact words; {} of {} are wrong", num_wrong, size / 8));
    wire_message::destroy(m);
  }
  executor::set_current(nullptr);
  comm.stop({});
  discard_all(inboxes);
}

}  // namespace transport_test

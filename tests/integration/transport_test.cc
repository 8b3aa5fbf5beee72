// A transport between real processes. Usage, under mpirun:
//   transport_test mpi|ucx traffic | stop | large [BYTES] | data | data_stop | one_sided | mismatch
#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "imbrex/base/build_config.h"
#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/hash.h"
#include "imbrex/base/serialize.h"
#include "imbrex/base/slab.h"
#include "imbrex/comm/mpi_transport.h"
#if IMBREX_HAVE_UCX
#include "imbrex/comm/ucx_transport.h"
#endif

namespace {

using namespace imbrex;  // NOLINT: a test program

std::string transport_name;

std::unique_ptr<transport> make_transport() {
#if IMBREX_HAVE_UCX
  if (transport_name == "ucx") return std::make_unique<ucx_transport>();
#endif
  if (transport_name == "mpi") return std::make_unique<mpi_transport>();
  throw usage_error("there is no transport " + transport_name + " in this build");
}

void check(bool holds, const std::string& what) {
  if (holds) return;
  throw comm_error("expected " + what);
}

void discard_message(work* item, work_action) { wire_message::destroy(static_cast<wire_message*>(item)); }

constexpr std::uint32_t is_data = 1;
constexpr std::uint32_t is_last = 2;

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

/// PEs poll until all of their rank are through: what one has sent may need its progress.
struct rank_end {
  std::atomic<int> num_left;
  template <class Poll>
  void meet(Poll poll) {
    for (--num_left; num_left > 0; sched_yield()) poll();
  }
};

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

std::vector<executor> start(transport& comm, int num_pes) {
  std::vector<executor> inboxes(static_cast<std::size_t>(num_pes));
  delivery to{.first_pe = comm.rank() * num_pes, .pes = {}, .act = &discard_message};
  for (executor& e : inboxes) to.pes.push_back(&e);
  comm.start(to);
  return inboxes;
}

void discard_all(std::vector<executor>& inboxes) {
  for (executor& e : inboxes) {
    e.collect();
    while (work* item = e.next()) item->act(item, work_action::discard);
  }
}

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
  comm.stop(false);
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
    comm.stop(failed && comm.rank() == 0);
    executor::set_current(nullptr);
    const auto all = comm.all_gather(std::vector<std::byte>(100'000 * static_cast<std::size_t>(comm.rank())));
    check(all.back().size() == 100'000 * (all.size() - 1), "all_gather to work after stop");
    discard_all(inboxes);
  }
  MPI_Finalize();
}

void poll_or_yield(transport& comm) {
  if (!comm.poll()) sched_yield();
}

double available_gib() {
  std::ifstream in("/proc/meminfo");
  for (std::string name; in >> name;) {
    double kib = 0;
    if (name == "MemAvailable:" && in >> kib) return kib / (1 << 20);
  }
  return 0;
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
  comm.stop(false);
  discard_all(inboxes);
}

// ------------------------------------------------------------------------------------------------ data

/// One movement of data, with its memory.
struct movement : transfer {
  std::vector<std::byte> memory;
  std::uint64_t seed = 0;
  bool over = false;

  movement(executor& home, std::uint64_t size, std::uint64_t s) : memory(size), seed(s) {
    pe = &home;
    act = [](work* w, work_action) { static_cast<movement*>(w)->over = true; };
  }
  data_view view() { return {.data = memory.data(), .bytes = memory.size()}; }
  std::byte expected(std::size_t i) const { return static_cast<std::byte>((seed * 131 + i * 7 + i / 4096) & 0xff); }
  void fill() {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = expected(i);
  }
  bool intact() const {
    for (std::size_t i = 0; i < memory.size(); ++i) {
      if (memory[i] != expected(i)) return false;
    }
    return true;
  }
};

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
  comm.stop(false);
  run_posted(inbox);
  if (comm.rank() % 2 != 0) {
    for (std::uint64_t i = 0; i + 2 < count; ++i) {
      check(all[i]->over && all[i]->intact(), fmt::format("data {} before the end", i));
    }
  }
}

/// Runs `body(inbox, pe)` as each of the PEs of this rank, then stops.
template <class Body>
void on_all_pes(transport& comm, int num_pes, Body body) {
  std::vector<executor> inboxes = start(comm, num_pes);
  rank_end end{num_pes};
  std::vector<std::thread> threads;
  for (int i = 0; i < num_pes; ++i) {
    threads.emplace_back([&, i] {
      executor& inbox = inboxes[static_cast<std::size_t>(i)];
      executor::set_current(&inbox);
      try {
        body(inbox, comm.rank() * num_pes + i);
        end.meet([&] { comm.poll(); });
      } catch (const error& e) {
        fmt::print(stderr, "pe {}: {}\n", comm.rank() * num_pes + i, e.what());
        comm.abort(1);
      }
      executor::set_current(nullptr);
    });
  }
  for (std::thread& t : threads) t.join();
  comm.stop(false);
  discard_all(inboxes);
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

// ------------------------------------------------------------------------------------------------ one-sided

/// What one rank tells another about its memory.
struct shared_memory {
  std::uint64_t address = 0;
  std::vector<std::byte> key;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & address & key;
  }
};

constexpr std::uint32_t is_key = 3;
constexpr std::uint32_t is_put = 4;

template <class Type>
wire_message* message_with(pe_id from, pe_id to, std::uint32_t handler, Type& content) {
  const std::vector<std::byte> bytes = to_bytes(content);
  wire_message* m = wire_message::make(bytes.size());
  m->header.from = from;
  m->header.to = to;
  m->header.handler = handler;
  std::memcpy(m->payload(), bytes.data(), bytes.size());
  return m;
}

/// What a rank has heard from the others, in all rounds: a faster one may be a step ahead.
struct heard_so_far {
  std::vector<shared_memory> there;
  std::size_t num_keys = 0;
  std::size_t num_puts = 0;
  std::size_t num_ends = 0;
};

/// Each rank has a piece of memory with a part for every rank, which that one writes and reads back.
void one_sided_with(transport& comm, executor& inbox, heard_so_far& heard, std::size_t round, std::uint64_t part) {
  const rank_id me = comm.rank();
  const auto all = static_cast<std::size_t>(comm.num_ranks() - 1) * round;
  std::vector<std::byte> mine(part * static_cast<std::size_t>(comm.num_ranks()));
  shared_memory here{reinterpret_cast<std::uintptr_t>(mine.data()),
                     comm.share_memory({.data = mine.data(), .bytes = mine.size()})};
  auto& [there, num_keys, num_puts, num_ends] = heard;
  const auto receive = [&] {
    if (!comm.poll()) sched_yield();
    inbox.collect();
    while (work* item = inbox.next()) {
      if (item->act != &discard_message) {
        item->act(item, work_action::run);
        continue;
      }
      auto* m = static_cast<wire_message*>(item);
      if (m->header.handler == is_key) {
        const auto* bytes = m->payload();
        from_bytes(std::vector<std::byte>(bytes, bytes + m->header.size),
                   there[static_cast<std::size_t>(m->header.from)]);
        ++num_keys;
      } else if (m->header.handler == is_put) {
        movement expected(inbox, part, static_cast<std::uint64_t>(m->header.from));
        std::memcpy(expected.memory.data(), mine.data() + part * static_cast<std::size_t>(m->header.from), part);
        check(expected.intact(), fmt::format("a put of {} bytes to have arrived when it is over", part));
        ++num_puts;
      } else {
        ++num_ends;
      }
      wire_message::destroy(m);
    }
  };
  const auto tell = [&](std::uint32_t what, shared_memory& content) {
    for (rank_id r = 0; r < comm.num_ranks(); ++r) {
      if (r != me) comm.send(r, message_with(me, r, what, content));
    }
  };
  tell(is_key, here);
  while (num_keys < all) receive();
  for (rank_id r = 0; r < comm.num_ranks(); ++r) {
    if (r == me) continue;
    const shared_memory& s = there[static_cast<std::size_t>(r)];
    movement out(inbox, part, static_cast<std::uint64_t>(me));
    out.fill();
    comm.put(r, s.key, s.address + part * static_cast<std::uint64_t>(me), out.view(), &out);
    while (!out.over) receive();
    shared_memory nothing;
    comm.send(r, message_with(me, r, is_put, nothing));
    movement back(inbox, part, static_cast<std::uint64_t>(me));
    comm.get(r, s.key, s.address + part * static_cast<std::uint64_t>(me), back.view(), &back);
    while (!back.over) receive();
    check(back.intact(), fmt::format("{} bytes to come back as they were put", part));
  }
  while (num_puts < all) receive();
  shared_memory nothing;
  tell(is_last, nothing);
  while (num_ends < all) receive();
  comm.forget_memory(mine.data());
}

void one_sided() {
  const auto made = make_transport();
  transport& comm = *made;
  if (!comm.has_one_sided(memory_kind::host)) {
    fmt::print("skipped: {} has no one-sided movement of its own\n", comm.name());
    return;
  }
  on_all_pes(comm, 1, [&](executor& inbox, pe_id) {
    heard_so_far heard;
    heard.there.resize(static_cast<std::size_t>(comm.num_ranks()));
    std::size_t round = 0;
    for (const std::uint64_t part : {8, 8192, 1'000'000, 5'000'000}) one_sided_with(comm, inbox, heard, ++round, part);
  });
}

}  // namespace

int main(int argc, char** argv) {
  transport_name = argc > 1 ? argv[1] : "mpi";
  const std::string mode = argc > 2 ? argv[2] : "traffic";
  try {
    if (mode == "traffic") {
      traffic();
    } else if (mode == "stop") {
      stop();
    } else if (mode == "large") {
      large(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 3'000'000'005);
    } else if (mode == "data") {
      data();
    } else if (mode == "data_stop") {
      data_stop();
    } else if (mode == "one_sided") {
      one_sided();
    } else if (mode == "mismatch") {
      mismatch();
    } else {
      fmt::print(stderr, "{}: unknown test; there are traffic, stop, large, data, data_stop, one_sided and mismatch\n",
                 mode);
      return 2;
    }
  } catch (const error& e) {
    fmt::print(stderr, "{} over {}: {}\n", mode, transport_name, e.what());
    return 1;
  }
  return 0;
}

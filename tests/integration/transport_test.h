// What the tests of a transport between real processes share; the program is transport_test.
#pragma once

#include <fmt/format.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "imbrex/async/executor.h"
#include "imbrex/base/error.h"
#include "imbrex/comm/transport.h"

namespace transport_test {

using namespace imbrex;  // NOLINT: a test program

/// "mpi" or "ucx".
extern std::string transport_name;

std::unique_ptr<transport> make_transport();

/// Throws `comm_error` saying what was expected.
void check(bool holds, const std::string& what);

/// Starts a transport; what arrives for each of the PEs goes to an inbox of its own.
std::vector<executor> start(transport& comm, int num_pes);
/// What is done with a message that nobody takes out of its inbox.
void discard_message(work* item, work_action);
/// Gives the core away when nothing has come.
inline void poll_or_yield(transport& comm) {
  if (!comm.poll()) sched_yield();
}
/// Empties the inboxes.
void discard_all(std::vector<executor>& inboxes);

/// PEs poll until all of their rank are through: what one has sent may need its progress.
struct rank_end {
  std::atomic<int> num_left;
  template <class Poll>
  void meet(Poll poll) {
    for (--num_left; num_left > 0; sched_yield()) poll();
  }
};

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
  comm.stop({});
  discard_all(inboxes);
}

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

/// Kinds of messages, as their header's handler.
constexpr std::uint32_t is_data = 1;
constexpr std::uint32_t is_last = 2;

/// \name The tests, each to be run by all ranks. They throw where something is not as it must be.
///@{
void traffic();
void stop();
void large(std::uint64_t size);
void data();
void data_stop();
void mismatch();
void one_sided();
///@}

}  // namespace transport_test

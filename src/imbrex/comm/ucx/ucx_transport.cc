#include "imbrex/comm/ucx/ucx_transport.h"

#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/serialize.h"
#include "imbrex/comm/mpi/mpi_job.h"
#include "imbrex/comm/ucx/ucx_context.h"
#include "imbrex/comm/ucx/ucx_data.h"
#include "imbrex/comm/ucx/ucx_heartbeat.h"
#include "imbrex/comm/ucx/ucx_memory.h"
#include "imbrex/comm/ucx/ucx_messages.h"
#include "imbrex/comm/ucx/ucx_worker.h"

namespace imbrex {

namespace {

/// What one PE has of its own.
struct ucx_pe {
  ucx_pe(const ucx_context& context, const ucx_memory& memory, const delivery& to, pe_id pe, int num_ranks)
      : worker(context), messages(worker, to, pe, num_ranks), data(worker, memory, num_ranks) {}

  ucx_worker worker;
  ucx_messages messages;
  ucx_data data;
};

/// What ranks tell each other at the end: of messages and data to and from one other rank.
struct ucx_counts {
  std::uint64_t messages = 0;
  std::uint64_t sent_ids = 0;
  std::uint64_t received_ids = 0;
  std::uint64_t end = 0;  ///< how the rank wants the job to end
};

/// MPI may still write here after a failure: out of reach of destructors until the process ends.
std::vector<const void*>& abandoned() {
  static auto* const all = new std::vector<const void*>;
  return *all;
}

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

struct ucx_transport::state {
  enum class phase : std::uint8_t { made, started, stopped };

  explicit state(const ucx_options& options);
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  ucx_pe& mine() {
    executor* e = executor::current();
    if (last.of == serial && last.pe == e) [[likely]]
      return *last.found;
    return find(e);
  }
  ucx_pe& find(executor* e);
  std::size_t place_of(rank_id to, pe_id pe) const;
  void exchange_addresses();
  bool drain(job_end& end);
  bool lost_any() const;
  bool close(bool force, std::int64_t deadline);
  void release();
  template <class Over>
  bool progress_until(Over over, std::int64_t deadline);
  bool progress();
  std::vector<ucx_counts> counts() const;

  /// The PE that the calling thread was last found to be.
  struct found_pe {
    std::uint64_t of;
    executor* pe;
    ucx_pe* found;
  };
  static thread_local constinit found_pe last;

  const std::uint64_t serial = next_serial();
  mpi_job job;
  ucx_context context{job.rank(), job.num_ranks(), job.num_local_ranks()};
  ucx_memory memory{context};
  std::vector<std::atomic<bool>> talked = std::vector<std::atomic<bool>>(static_cast<std::size_t>(job.num_ranks()));
  std::unique_ptr<ucx_heartbeat> heartbeat;
  delivery to;
  ucx_addresses addresses;
  std::vector<std::unique_ptr<ucx_pe>> pes;
  phase now = phase::made;
  bool taking_unwanted = false;  ///< no rank's PEs run any more, but some may still send data
  bool failing = false;          ///< the job ends after a failure, which is known: another is none
};

thread_local constinit ucx_transport::state::found_pe ucx_transport::state::last{};

ucx_transport::state::state(const ucx_options& options) {
  if (options.heartbeat_s > 0 && job.num_ranks() > 1) {
    heartbeat = std::make_unique<ucx_heartbeat>(context, job.num_ranks(), options.heartbeat_s);
  }
}

ucx_pe& ucx_transport::state::find(executor* e) {
  const auto found = std::find(to.pes.begin(), to.pes.end(), e);
  if (pes.empty() || found == to.pes.end()) {
    throw usage_error(
        "the ucx transport was used between start and stop by a thread that is none of its PEs: send from a PE");
  }
  last = {serial, e, pes[static_cast<std::size_t>(found - to.pes.begin())].get()};
  return *last.found;
}

std::size_t ucx_transport::state::place_of(rank_id rank, pe_id pe) const {
  const auto per_rank = static_cast<pe_id>(to.pes.size());
  if (rank < 0 || rank >= job.num_ranks() || rank == job.rank()) {
    throw comm_error(fmt::format("rank {} cannot send to rank {}: the others are among 0 to {}", job.rank(), rank,
                                 job.num_ranks() - 1));
  }
  if (pe < 0 || pe / per_rank != rank) {
    throw comm_error(fmt::format("pe {} is not of rank {}, which has pes {} to {}", pe, rank, rank * per_rank,
                                 (rank + 1) * per_rank - 1));
  }
  return static_cast<std::size_t>(pe);
}

ucx_transport::ucx_transport(const ucx_options& options) : state_(std::make_unique<state>(options)) {}

ucx_transport::~ucx_transport() {
  if (state_->now == state::phase::started) ucx_transport::stop({.failed = true, .code = 1});
}

rank_id ucx_transport::rank() const { return state_->job.rank(); }
int ucx_transport::num_ranks() const { return state_->job.num_ranks(); }
int ucx_transport::num_local_ranks() const { return state_->job.num_local_ranks(); }
int ucx_transport::local_rank() const { return state_->job.local_rank(); }

void ucx_transport::start(const delivery& to) {
  state& s = *state_;
  s.to = to;
  for (std::size_t i = 0; i < to.pes.size(); ++i) {
    s.pes.push_back(
        std::make_unique<ucx_pe>(s.context, s.memory, s.to, to.first_pe + static_cast<pe_id>(i), s.job.num_ranks()));
  }
  s.exchange_addresses();
  s.now = state::phase::started;
}

void ucx_transport::state::exchange_addresses() {
  std::vector<std::vector<std::byte>> mine;
  mine.reserve(pes.size() + 1);
  for (const auto& pe : pes) mine.push_back(pe->worker.address());
  mine.push_back(heartbeat ? heartbeat->address() : std::vector<std::byte>{});
  ucx_addresses beats;
  addresses.per_rank = static_cast<int>(pes.size());
  const auto everyone = job.all_gather(to_bytes(mine));
  for (std::size_t r = 0; r < everyone.size(); ++r) {
    std::vector<std::vector<std::byte>> theirs;
    from_bytes(everyone[r], theirs);
    if (theirs.size() != mine.size()) {
      throw comm_error(fmt::format("rank {} has {} PEs, rank {} has {}: give all ranks the same number", r,
                                   theirs.size() - 1, job.rank(), mine.size() - 1));
    }
    if (heartbeat && theirs.back().empty()) {
      throw comm_error(fmt::format("rank {} has no heartbeat: give all ranks the same --imbrex-heartbeat-s", r));
    }
    beats.all.push_back(std::move(theirs.back()));
    theirs.pop_back();
    for (auto& address : theirs) addresses.all.push_back(std::move(address));
  }
  for (const auto& pe : pes) pe->worker.know(addresses, &talked);
  if (heartbeat) heartbeat->start(std::move(beats), talked);
}

void ucx_transport::send(rank_id to, wire_message* m) {
  state& s = *state_;
  if (s.now == state::phase::stopped) [[unlikely]]
    return wire_message::destroy(m);
  ucx_pe* pe = nullptr;
  try {
    s.place_of(to, m->header.to);
    pe = &s.mine();
  } catch (...) {
    wire_message::destroy(m);
    throw;
  }
  pe->messages.send(m);
}

bool ucx_transport::poll() {
  state& s = *state_;
  if (s.now != state::phase::started || s.job.num_ranks() == 1) return false;
  if (s.heartbeat && s.heartbeat->failed()) [[unlikely]]
    s.heartbeat->throw_failure();
  return s.mine().worker.poll();
}

bool ucx_transport::reaches(memory_kind kind) const {
  return kind != memory_kind::device || state_->context.reaches_gpus();
}

void ucx_transport::send_data(rank_id to, pe_id to_pe, std::uint64_t id, const data_view& from, transfer* done) {
  state_->mine().data.send(state_->place_of(to, to_pe), id, from, done);
}

void ucx_transport::recv_data(rank_id from, std::uint64_t id, const data_view& to, transfer* done) {
  if (from < 0 || from >= num_ranks()) {
    throw comm_error(
        fmt::format("rank {} cannot receive from rank {}: ranks are 0 to {}", rank(), from, num_ranks() - 1));
  }
  state_->mine().data.recv(from, id, to, done);
}

void ucx_transport::add_memory(const data_view& piece) { state_->memory.add(piece); }
void ucx_transport::forget_memory(const std::byte* start) { state_->memory.forget(start); }

// A key is the PE that shares the memory, whose worker serves puts and gets, then UCX's.
std::vector<std::byte> ucx_transport::share_memory(const data_view& memory) {
  state& s = *state_;
  const auto found = std::find(s.to.pes.begin(), s.to.pes.end(), executor::current());
  const pe_id pe = s.to.first_pe + (found == s.to.pes.end() ? 0 : static_cast<pe_id>(found - s.to.pes.begin()));
  std::vector<std::byte> key(sizeof pe);
  std::memcpy(key.data(), &pe, sizeof pe);
  const std::vector<std::byte> packed = s.memory.pack_key(memory);
  key.insert(key.end(), packed.begin(), packed.end());
  return key;
}

namespace {
std::pair<pe_id, std::vector<std::byte>> split_key(const std::vector<std::byte>& key) {
  pe_id pe = no_pe;
  if (key.size() <= sizeof pe) {
    throw usage_error(fmt::format("a key of {} bytes: give put and get what share_memory gave", key.size()));
  }
  std::memcpy(&pe, key.data(), sizeof pe);
  return {pe, std::vector<std::byte>(key.begin() + sizeof pe, key.end())};
}
}  // namespace

void ucx_transport::put(rank_id to, const std::vector<std::byte>& key, std::uint64_t there, const data_view& from,
                        transfer* done) {
  const auto [pe, packed] = split_key(key);
  state_->mine().data.put(state_->place_of(to, pe), packed, there, from, done);
}

void ucx_transport::get(rank_id from, const std::vector<std::byte>& key, std::uint64_t there, const data_view& to,
                        transfer* done) {
  const auto [pe, packed] = split_key(key);
  state_->mine().data.get(state_->place_of(from, pe), packed, there, to, done);
}

// ------------------------------------------------------------------------------------------------ the end

bool ucx_transport::state::progress() {
  bool any = false;
  for (const auto& pe : pes) {
    any = (failing ? pe->worker.progress() : pe->worker.poll()) || any;
    if (taking_unwanted) pe->data.take_unwanted();
  }
  if (heartbeat) any = heartbeat->progress() || any;
  return any;
}

bool ucx_transport::state::lost_any() const {
  return (heartbeat && heartbeat->failed()) ||
         std::any_of(pes.begin(), pes.end(), [](const auto& pe) { return pe->worker.lost_any(); });
}

/// Makes progress on all PEs' workers, whose threads run no more, until `over()`; false when the deadline came first.
template <class Over>
bool ucx_transport::state::progress_until(Over over, std::int64_t deadline) {
  while (!over()) {
    if (!failing && heartbeat && heartbeat->failed()) heartbeat->throw_failure();
    if (progress()) continue;
    if (now_ns() > deadline) return false;
    sched_yield();
  }
  return true;
}

std::vector<ucx_counts> ucx_transport::state::counts() const {
  std::vector<ucx_counts> all(talked.size());
  for (const auto& pe : pes) {
    for (std::size_t r = 0; r < all.size(); ++r) {
      all[r].messages += pe->messages.num_sent()[r];
      all[r].sent_ids += pe->data.sent_ids()[r];
      all[r].received_ids += pe->data.received_ids()[r];
    }
  }
  return all;
}

job_end ucx_transport::stop(const job_end& mine) {
  state& s = *state_;
  if (s.now != state::phase::started) return mine;
  s.now = state::phase::stopped;
  for (const auto& pe : s.pes) pe->messages.discard_from_now();
  s.failing = mine.failed;
  job_end end = mine;
  std::exception_ptr failure;
  bool drained = false;
  try {
    drained = s.drain(end);
  } catch (const error&) {
    failure = std::current_exception();
  }
  if (!drained) s.job.abandon();
  s.release();
  if (failure && !end.failed) std::rethrow_exception(failure);
  return end;
}

// Nothing is left when each rank has received as many messages as the others sent it, and all that it sent has left.
// `end`: this rank's, then all ranks'.
bool ucx_transport::state::drain(job_end& end) {
  constexpr std::int64_t second = 1'000'000'000;
  // Where a rank is known to be lost, it is only waited for what is on its way to the others, such as that the job
  // ends.
  std::int64_t deadline = failing ? now_ns() + (lost_any() ? 1 : 5) * second : INT64_MAX;
  const int me = job.rank();
  struct exchange {
    std::vector<ucx_counts> mine, theirs;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  auto e = std::make_unique<exchange>();
  e->mine = counts();
  for (ucx_counts& c : e->mine) c.end = end.word();
  e->theirs.resize(e->mine.size());
  constexpr int words = sizeof(ucx_counts) / sizeof(std::uint64_t);
  mpi_check(MPI_Ialltoall(e->mine.data(), words, MPI_UINT64_T, e->theirs.data(), words, MPI_UINT64_T, job.control(),
                          &e->request),
            "MPI_Ialltoall", me);
  const auto finished = [&] {
    int done = 0;
    mpi_check(MPI_Test(&e->request, &done, MPI_STATUS_IGNORE), "MPI_Test", me);
    return done != 0;
  };
  const auto give_up = [&] {
    abandoned().push_back(e.release());
    return false;
  };
  try {
    if (!progress_until(finished, deadline)) return give_up();
    for (std::size_t r = 0; r < e->theirs.size(); ++r) {
      const job_end theirs = job_end::of_word(e->theirs[r].end);
      end = r == 0 ? theirs : agreed_end(end, theirs);
    }
    if (end.failed && !failing) deadline = now_ns() + 5 * second;
    failing = end.failed;
    taking_unwanted = true;
    const auto messages_through = [&] {
      for (std::size_t r = 0; r < e->theirs.size(); ++r) {
        std::uint64_t received = 0;
        for (const auto& pe : pes) received += pe->messages.num_received()[r];
        if (received != e->theirs[r].messages) return false;
      }
      return std::all_of(pes.begin(), pes.end(), [](const auto& pe) { return pe->messages.num_under_way() == 0; });
    };
    if (!progress_until(messages_through, deadline)) return false;
    const auto data_through = [&] {
      return std::all_of(pes.begin(), pes.end(), [](const auto& pe) { return pe->data.idle(); });
    };
    bool all_matched = true;
    for (std::size_t r = 0; r < e->theirs.size(); ++r) {
      all_matched = all_matched && e->mine[r].sent_ids == e->theirs[r].received_ids &&
                    e->mine[r].received_ids == e->theirs[r].sent_ids;
    }
    const auto sends_through = [&] {
      return std::all_of(pes.begin(), pes.end(), [](const auto& pe) { return pe->data.all_left(); });
    };
    const bool through = all_matched ? progress_until(data_through, deadline)
                                     : progress_until(sends_through, std::min(deadline, now_ns() + second));
    if (all_matched && !through) return false;
    for (const auto& pe : pes) pe->worker.expect_closing();
    if (heartbeat) heartbeat->expect_closing();
    mpi_check(MPI_Ibarrier(job.control(), &e->request), "MPI_Ibarrier", me);
    if (!progress_until(finished, deadline)) return give_up();
    // What was sent has left, but may still be arriving: until nothing has come for a while.
    constexpr std::int64_t silence = second / 50;
    for (std::int64_t heard = now_ns(), until = heard + second, t = heard;
         !data_through() && t - heard < silence && t < until; t = now_ns()) {
      if (progress()) {
        heard = t;
      } else {
        sched_yield();
      }
    }
    for (const auto& pe : pes) pe->data.cancel_receives();
    const bool moved = progress_until(data_through, now_ns() + second) && through;
    taking_unwanted = false;
    // All are here: nobody is silent from now on because something is wrong.
    if (heartbeat) heartbeat->stop();
    if (!close(!moved, now_ns() + 2 * second)) close(true, now_ns() + second);
    mpi_check(MPI_Ibarrier(job.control(), &e->request), "MPI_Ibarrier", me);
    return progress_until(finished, deadline) || give_up();
  } catch (...) {
    if (e != nullptr && e->request != MPI_REQUEST_NULL) abandoned().push_back(e.release());
    throw;
  }
}

bool ucx_transport::state::close(bool force, std::int64_t deadline) {
  for (const auto& pe : pes) {
    pe->data.cancel_receives();
    pe->data.forget_keys();
    pe->worker.begin_close(force);
  }
  if (heartbeat) heartbeat->begin_close(force);
  const auto closed = [&] {
    return std::all_of(pes.begin(), pes.end(), [](const auto& pe) { return pe->worker.closed(); }) &&
           (!heartbeat || heartbeat->closed());
  };
  return progress_until(closed, deadline);
}

// After a failure the endpoints are still open.
void ucx_transport::state::release() {
  failing = true;
  if (heartbeat) heartbeat->stop();
  heartbeat.reset();
  close(true, now_ns() + 1'000'000'000);
  for (const auto& pe : pes) pe->data.give_up();
  pes.clear();
}

std::vector<std::vector<std::byte>> ucx_transport::all_gather(const std::vector<std::byte>& mine) {
  return state_->job.all_gather(mine);
}

void ucx_transport::collect(std::vector<std::byte> mine, const std::function<void(std::vector<std::byte>)>& take) {
  collected all(take);
  state_->job.collect(std::move(mine), [&](std::vector<std::byte> bytes) { all.add(std::move(bytes)); });
  all.finish();
}

void ucx_transport::abort(int exit_code) {
  MPI_Abort(state_->job.control(), exit_code);
  std::_Exit(exit_code);
}

}  // namespace imbrex

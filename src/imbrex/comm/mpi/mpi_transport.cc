#include "imbrex/comm/mpi/mpi_transport.h"

#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/log.h"
#include "imbrex/base/serialize.h"
#include "imbrex/comm/flood_watch.h"
#include "imbrex/comm/mpi/mpi_gpu_support.h"
#include "imbrex/comm/mpi/mpi_job.h"
#include "imbrex/comm/mpi/mpi_lock.h"
#include "imbrex/comm/mpi/mpi_pending.h"
#include "imbrex/comm/mpi/mpi_receiver.h"
#include "imbrex/comm/mpi/mpi_recovery.h"
#include "imbrex/comm/mpi/mpi_tags.h"
#include "imbrex/comm/rank_lost.h"

namespace imbrex {

struct mpi_transport::state {
  enum class phase : std::uint8_t { made, started, stopped };

  state(bool may_lose_ranks, int num_spares) : job(num_spares), send(send_function(may_lose_ranks)) {}
  explicit state(state& before) : job(before.job), send(before.send) {}

  using send_call = decltype(&MPI_Isend);
  /// A send that Open MPI reports as done while it is still on its way to a rank that is lost then ends the whole job
  /// ("send error after request freed"). A synchronous one is done when it has been received.
  static send_call send_function(bool may_lose_ranks) {
    return may_lose_ranks && why_no_mpi_recovery().empty() ? &MPI_Issend : &MPI_Isend;
  }

  mpi_job job;
  mpi_pending pending;
  mpi_pending data;  // apart from messages
  mpi_receiver receiver{job, pending};
  const send_call send;
  std::vector<std::uint64_t> num_sent = std::vector<std::uint64_t>(static_cast<std::size_t>(job.num_ranks()));
  phase now = phase::made;
  std::uint32_t num_polls = 0;
  mpi_lock lock;
  bool is_lost = false;  // a rank

  void lose();
  bool end_requests_after_loss();
  template <class F>
  void unless_lost(F f);
  int has_failed(int code, MPI_Request request, rank_id to);
  void send_large(rank_id to, wire_message* m);
  template <class Start>
  void move_data(const mpi_data& what, std::byte* data, Start start);
  void take_unwanted_data();
  mpi_tags tags{job.largest_tag(), 1};
  flood_watch flood{"MPI"};
  void choose_tags(int pes_per_rank);
  MPI_Comm data_comm(std::uint64_t id) const {
    return (id & transport::between_hosts) != 0 ? job.host_data() : job.device_data();
  }
  bool progress();
  bool drain(job_end& end);
};

namespace {

/// What MPI may still write to after a failure stays in reach until the process ends.
std::vector<const void*>& abandoned() {
  static auto* const all = new std::vector<const void*>;
  return *all;
}

}  // namespace

mpi_transport::mpi_transport(bool may_lose_ranks, int num_spares)
    : state_(std::make_unique<state>(may_lose_ranks, num_spares)) {}
mpi_transport::mpi_transport(mpi_transport& before) : state_(std::make_unique<state>(*before.state_)) {}

int mpi_transport::agree_on(int bits) {
  const std::lock_guard lock(state_->lock);
  return mpi_agree(state_->job.everyone(), bits, state_->job.is_spare());
}
bool mpi_transport::is_spare() const { return state_->job.is_spare(); }

void mpi_transport::state::lose() {
  if (is_lost) return;
  is_lost = true;
  job.revoke();
}

/// A loss is told by `poll`, not in the middle of a program's own function.
template <class F>
void mpi_transport::state::unless_lost(F f) {
  if (is_lost) return;
  try {
    f();
  } catch (const rank_lost&) {
    lose();
  }
}

/// Nothing of them is MPI's any more then: memory that they read or write may go.
bool mpi_transport::state::end_requests_after_loss() {
  constexpr std::int64_t limit_ns = 2'000'000'000;
  const std::int64_t deadline = now_ns() + limit_ns;
  const auto arrived = [this](mpi_transfer* t) {
    if (t->incoming) return receiver.complete(t);
    wire_message::destroy(t->message);
    delete t;
  };
  while (now_ns() < deadline) {
    pending.progress_after_loss(arrived);
    data.progress_after_loss([](mpi_transfer*) {});
    if (receiver.cancel_after_loss() && pending.empty() && data.empty()) return true;
    sched_yield();
  }
  return false;
}

mpi_transport::~mpi_transport() {
  if (state_->now == state::phase::started) mpi_transport::stop({.failed = true, .code = 1});
  if (state_->job.abandoned()) abandoned().push_back(state_.release());
}

bool mpi_transport::launched_by_mpi() { return launched_ranks() > 1 || (launched_ranks() == 0 && launcher_present()); }

bool mpi_transport::uses_session() const { return state_->job.uses_session(); }
rank_id mpi_transport::rank() const { return state_->job.rank(); }
int mpi_transport::num_ranks() const { return state_->job.num_ranks(); }
int mpi_transport::num_local_ranks() const { return state_->job.num_local_ranks(); }
int mpi_transport::local_rank() const { return state_->job.local_rank(); }

void mpi_transport::state::choose_tags(int pes_per_rank) {
  constexpr std::uint64_t few = 4096;
  tags = mpi_tags(job.largest_tag(), pes_per_rank);
  if (tags.per_pe() >= few || job.rank() != 0) return;
  log_warning(
      fmt::format("this MPI has {} tags (MPI_TAG_UB), {} for each of {} PEs: if a PE has more data under way, they may "
                  "be mixed up; "
                  "use fewer PEs in a rank, --imbrex-transport=ucx, or --imbrex-protocol=packed",
                  job.largest_tag(), tags.per_pe(), pes_per_rank));
}

void mpi_transport::start(const delivery& to) {
  const std::lock_guard lock(state_->lock);
  state_->choose_tags(static_cast<int>(to.pes.size()));
  state_->receiver.start(to);
  state_->now = state::phase::started;
}

void mpi_transport::send(rank_id to, wire_message* m) {
  state& s = *state_;
  const rank_id me = s.job.rank();
  if (to < 0 || to >= s.job.num_ranks() || to == me) [[unlikely]] {
    wire_message::destroy(m);
    throw comm_error(
        fmt::format("rank {} cannot send to rank {}: the others are among 0 to {}", rank(), to, s.job.num_ranks() - 1));
  }
  int left = 0;
  {
    const std::lock_guard lock(s.lock);
    if (s.is_lost) [[unlikely]]
      return wire_message::destroy(m);
    ++s.num_sent[static_cast<std::size_t>(to)];
    if (m->wire_size() > mpi_eager_bytes) [[unlikely]]
      return s.unless_lost([&] { s.send_large(to, m); });
    MPI_Request request = MPI_REQUEST_NULL;
    int code = s.send(m->wire_bytes(), static_cast<int>(m->wire_size()), MPI_BYTE, to, 0, s.job.messages(), &request);
    if (code == MPI_SUCCESS) code = MPI_Test(&request, &left, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) [[unlikely]]
      left = s.has_failed(code, request, to);
    if (left == 0) {
      s.pending.add(request, m);
      s.flood.look(s.pending.size(), to, m->wire_size());
    }
  }
  if (left != 0) wire_message::destroy(m);
}

// Whether the message has left, or will never: after the loss of a rank.
int mpi_transport::state::has_failed(int code, MPI_Request request, rank_id to) {
  if (!is_lost_rank(code)) throw_mpi_error(code, "MPI_Isend", job.rank(), to);
  lose();
  return request == MPI_REQUEST_NULL ? 1 : 0;
}

// The pieces of several messages to one rank may share a tag: they are sent and received in the same order.
void mpi_transport::state::send_large(rank_id to, wire_message* m) {
  auto* t = new mpi_transfer{.message = m, .peer = to, .announcement = {.header = m->header}};
  const std::uint64_t num_tags = static_cast<std::uint64_t>(job.largest_tag()) + 1;
  t->announcement.tag = static_cast<std::int64_t>(num_sent[static_cast<std::size_t>(to)] % num_tags);
  MPI_Request request = MPI_REQUEST_NULL;
  mpi_check(send(&t->announcement, sizeof t->announcement, MPI_BYTE, to, 0, job.messages(), &request), "MPI_Isend",
            job.rank(), to);
  pending.add(request, t);
  for_each_mpi_piece(m->payload(), m->header.size, [&](std::byte* start, int count) {
    mpi_check(send(start, count, MPI_BYTE, to, static_cast<int>(t->announcement.tag), job.pieces(), &request),
              "MPI_Isend", job.rank(), to);
    pending.add(request, t);
  });
}

template <class Start>
void mpi_transport::state::move_data(const mpi_data& what, std::byte* bytes, Start start) {
  if (what.bytes == 0 || is_lost) return what.done->complete();
  auto* d = new mpi_data(what);
  unless_lost([&] {
    for_each_mpi_piece(bytes, what.bytes, [&](std::byte* piece, int count) {
      MPI_Request request = MPI_REQUEST_NULL;
      start(piece, count, &request);
      data.add(request, d);
    });
  });
  if (d->num_pending > 0) return;
  d->done->complete();
  delete d;
}

bool mpi_transport::reaches(memory_kind kind) const { return kind != memory_kind::device || mpi_takes_gpu_memory(); }

void mpi_transport::send_data(rank_id to, pe_id, std::uint64_t id, const data_view& from, transfer* done) {
  state& s = *state_;
  const mpi_data what{.done = done, .peer = to, .id = id, .bytes = from.bytes};
  const std::lock_guard lock(s.lock);
  s.move_data(what, from.data, [&](std::byte* piece, int count, MPI_Request* request) {
    // Done when it is received, however small: `parked_message` counts on it.
    mpi_check(MPI_Issend(piece, count, MPI_BYTE, to, s.tags.of(id), s.data_comm(id), request), "MPI_Issend",
              s.job.rank(), to);
  });
}

void mpi_transport::recv_data(rank_id from, std::uint64_t id, const data_view& to, transfer* done) {
  state& s = *state_;
  const mpi_data what{.done = done, .peer = from, .incoming = true, .id = id, .bytes = to.bytes};
  const std::lock_guard lock(s.lock);
  s.move_data(what, to.data, [&](std::byte* piece, int count, MPI_Request* request) {
    mpi_check(MPI_Irecv(piece, count, MPI_BYTE, from, s.tags.of(id), s.data_comm(id), request), "MPI_Irecv",
              s.job.rank(), from);
  });
}

bool mpi_transport::poll() {
  if (state_->job.num_ranks() == 1 || !state_->lock.try_lock()) return false;
  const std::lock_guard lock(state_->lock, std::adopt_lock);
  if (state_->now != state::phase::started) return false;
  if (state_->is_lost) throw rank_lost("a rank is lost");
  try {
    return state_->progress();
  } catch (const rank_lost&) {
    state_->lose();
    throw;
  }
}

bool mpi_transport::state::progress() {
  bool any = receiver.poll();
  if (!data.empty()) any |= data.progress(job.rank(), [](mpi_transfer*) {});
  if (pending.empty()) [[likely]]
    return any;
  any |= pending.progress(job.rank(), [this](mpi_transfer* t) {
    if (t->incoming) return receiver.complete(t);
    wire_message::destroy(t->message);
    delete t;
  });
  return any;
}

job_end mpi_transport::stop(const job_end& mine) {
  state& s = *state_;
  const std::lock_guard lock(s.lock);
  if (s.now != state::phase::started) return mine;
  s.now = state::phase::stopped;
  s.receiver.discard_from_now();
  job_end end = mine;
  try {
    if (!s.is_lost && s.drain(end)) {
      s.take_unwanted_data();
      s.receiver.cancel();
      return end;
    }
  } catch (const rank_lost&) {
    s.lose();
  } catch (const error&) {
    s.job.abandon();
    if (!end.failed) throw;
  }
  if (s.is_lost && s.end_requests_after_loss()) return mine.failed ? mine : job_end{true, begin_again};
  s.job.abandon();
  return s.is_lost ? job_end{true, exit_code_failed_entry} : end;
}

// Nothing is left when each rank has received as many messages as the others sent it, and all its sends have left.
// `end`: this rank's, then all ranks'.
bool mpi_transport::state::drain(job_end& end) {
  constexpr std::int64_t limit_ns = 5'000'000'000;
  std::int64_t deadline = end.failed ? now_ns() + limit_ns : INT64_MAX;
  MPI_Request request = MPI_REQUEST_NULL;
  const auto finished = [&] {
    int done = 0;
    mpi_check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test", job.rank());
    return done != 0;
  };
  const auto wait_until = [&](auto&& over) {
    while (!over()) {
      if (progress()) continue;
      if (now_ns() > deadline) return false;
      sched_yield();
    }
    return true;
  };
  struct last_word {
    std::uint64_t num_sent;
    std::uint64_t end;
  };
  struct exchange {
    std::vector<last_word> mine, theirs;
  };
  auto words = std::make_unique<exchange>();
  for (const std::uint64_t n : num_sent) words->mine.push_back({n, end.word()});
  words->theirs.resize(num_sent.size());
  mpi_check(MPI_Ialltoall(words->mine.data(), 2, MPI_UINT64_T, words->theirs.data(), 2, MPI_UINT64_T, job.control(),
                          &request),
            "MPI_Ialltoall", job.rank());
  if (!wait_until(finished)) {
    abandoned().push_back(words.release());
    return false;
  }
  std::vector<std::uint64_t> expected;
  const bool failed_here = end.failed;
  for (std::size_t r = 0; r < words->theirs.size(); ++r) {
    expected.push_back(words->theirs[r].num_sent);
    const job_end theirs = job_end::of_word(words->theirs[r].end);
    end = r == 0 ? theirs : agreed_end(end, theirs);
  }
  if (end.failed && !failed_here) deadline = now_ns() + limit_ns;
  if (!wait_until([&] { return pending.empty() && receiver.num_received() == expected; })) return false;
  mpi_check(MPI_Ibarrier(job.control(), &request), "MPI_Ibarrier", job.rank());
  return wait_until(finished);
}

// Data that its receiver never asked for cannot be called back: the ranks tell each other what they still send, and
// each takes what is for it and throws it away. A sender may not know yet that some of it is here already; what was
// posted for that is withdrawn with the rest.
void mpi_transport::state::take_unwanted_data() {
  using sending = std::tuple<rank_id, std::uint64_t, std::uint64_t>;  // to, id, bytes
  std::vector<sending> mine;
  std::set<std::pair<rank_id, std::uint64_t>> awaited;
  for (const mpi_data* d : data.data()) {
    if (d->incoming) {
      awaited.emplace(d->peer, d->id);
    } else {
      mine.emplace_back(d->peer, d->id, d->bytes);
    }
  }
  const auto all = job.all_gather(to_bytes(mine));
  std::deque<std::vector<std::byte>> unwanted;
  std::vector<MPI_Request> requests;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const auto from = static_cast<rank_id>(r);
    std::vector<sending> theirs;
    from_bytes(all[r], theirs);
    for (const auto& [to, id, bytes] : theirs) {
      if (to != job.rank() || awaited.erase({from, id}) != 0) continue;
      unwanted.emplace_back(bytes);
      const int tag = tags.of(id);
      for_each_mpi_piece(unwanted.back().data(), bytes, [&](std::byte* piece, int count) {
        mpi_check(MPI_Irecv(piece, count, MPI_BYTE, from, tag, data_comm(id), &requests.emplace_back()), "MPI_Irecv",
                  job.rank(), from);
      });
    }
  }
  const auto sends_left = [&] {
    return std::ranges::any_of(data.data(), [](const mpi_data* d) { return !d->incoming; });
  };
  while (sends_left()) progress();
  MPI_Request barrier = MPI_REQUEST_NULL;
  mpi_check(MPI_Ibarrier(job.control(), &barrier), "MPI_Ibarrier", job.rank());
  for (int over = 0; over == 0;) {
    progress();
    mpi_check(MPI_Test(&barrier, &over, MPI_STATUS_IGNORE), "MPI_Test", job.rank());
  }
  // All that was sent has left: no send waits for a receive that is withdrawn.
  for (MPI_Request& r : requests) {
    if (r != MPI_REQUEST_NULL) mpi_check(MPI_Cancel(&r), "MPI_Cancel", job.rank());
  }
  mpi_check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall",
            job.rank());
  data.cancel_receives(job.rank());
  while (!data.empty()) progress();
}

std::vector<std::vector<std::byte>> mpi_transport::all_gather(const std::vector<std::byte>& mine) {
  const std::lock_guard lock(state_->lock);
  try {
    return state_->job.all_gather(mine);
  } catch (const rank_lost&) {
    state_->lose();
    throw;
  }
}

// Another thread may be inside MPI for good; the job ends all the same.
void mpi_transport::collect(std::vector<std::byte> mine, const std::function<void(std::vector<std::byte>)>& take) {
  const std::lock_guard lock(state_->lock);
  collected all(take);
  try {
    state_->job.collect(std::move(mine), [&](std::vector<std::byte> bytes) { all.add(std::move(bytes)); });
  } catch (const rank_lost&) {
    state_->lose();
    throw;
  }
  all.finish();
}

void mpi_transport::abort(int exit_code) {
  for (int i = 0; i < 100 && !state_->lock.try_lock(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  MPI_Abort(state_->job.control(), exit_code);
  std::_Exit(exit_code);
}

}  // namespace imbrex

#include "imbrex/checkpoint/live/checkpointer.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <span>
#include <thread>
#include <variant>

#include <fmt/format.h>

#include "imbrex/async/completion.h"
#include "imbrex/base/log.h"
#include "imbrex/checkpoint/checkpoint_folder.h"
#include "imbrex/checkpoint/live/checkpoint_signal.h"
#include "imbrex/checkpoint/live/point_messages.h"
#include "imbrex/checkpoint/live/tree_call.h"
#include "imbrex/checkpoint/partial_checkpoint.h"
#include "imbrex/checkpoint/snapshot_writer.h"
#include "imbrex/object/program_digest.h"
#include "imbrex/pe/quiescence_wait.h"

namespace imbrex {

namespace {

/// What is done at the end of a scope.
template <class F>
struct at_end {
  F f;
  ~at_end() { f(); }
};
template <class F>
at_end(F) -> at_end<F>;

/// Runs `f` on a thread of its own; when awaited it has ended. Quiescence waits for it.
template <class F>
task<> behind(F f) {
  completion ended;
  std::exception_ptr failure;
  std::thread worker([&] {
    try {
      f();
    } catch (...) {
      failure = std::current_exception();
    }
    ended.set();
  });
  struct joined {
    std::thread& t;
    ~joined() { t.join(); }
  } join{worker};
  co_await ended;
  if (failure) std::rethrow_exception(failure);
}

struct take_request {
  using result = std::monostate;
  static constexpr const char* name = "taking a checkpoint";
  task<result> on_pe(chare_pe& pe) {
    auto taken = checkpointer::of(pe).take();
    co_await taken;
    co_return std::monostate{};
  }
  template <class Archive>
  void serialize(Archive&) {}
};

struct drop_request {
  using result = std::monostate;
  static constexpr const char* name = "giving up a checkpoint";
  task<result> on_pe(chare_pe& pe) {
    checkpointer::of(pe).drop();
    co_return std::monostate{};
  }
  template <class Archive>
  void serialize(Archive&) {}
};

struct write_request {
  using result = rank_file_facts;
  static constexpr const char* name = "writing a checkpoint";
  std::string folder;
  task<result> on_pe(chare_pe& pe) {
    if (pe.id() != pe.rank().first_pe()) co_return rank_file_facts{.rank = -1, .kinds = {}};
    auto written = checkpointer::of(pe).write(folder);
    co_return co_await written;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & folder;
  }
};

/// A coroutine that waits until another checkpoint has been made; no operation, for that one waits for quiescence.
struct turn_wait : reply_awaiter<void> {
  explicit turn_wait(std::vector<reply_to>& line) : line_(line) {}
  void await_suspend(std::coroutine_handle<> h) {
    line_.push_back(expect(h, [](const waiter*) { return std::string("another checkpoint to be made"); }));
  }
  void await_resume() { take(); }

 private:
  std::vector<reply_to>& line_;
};

/// What is on devices goes piece by piece through `staging`.
void write_payload(snapshot_writer& file, const saved_state& s, std::span<std::byte> staging) {
  std::size_t written = 0;
  for (const saved_state::on_device& d : s.later) {
    file.append(std::span(s.bytes).subspan(written, d.at - written));
    written = d.at;
    for (std::size_t from = 0; from < d.copy.size(); from += staging.size()) {
      const std::span<std::byte> piece = staging.first(std::min(staging.size(), d.copy.size() - from));
      d.copy.on()->read_now(piece.data(), d.copy.data() + from, piece.size(), event());
      file.append(piece);
    }
  }
  file.append(std::span(s.bytes).subspan(written));
}

/// All that the PEs of a rank have taken; memory of records is freed as soon as they are written.
rank_file_facts write_records(const std::string& folder, rank_id rank,
                              std::vector<std::vector<snapshot_record>>& of_pes, std::span<std::byte> staging) {
  snapshot_writer file(folder, rank);
  for (std::vector<snapshot_record>& records : of_pes) {
    for (snapshot_record& r : records) {
      file.begin(static_cast<std::uint32_t>(r.kind), r.key);
      write_payload(file, r.payload, staging);
      file.end();
      r.payload.bytes = {};
    }
  }
  return file.finish();
}

constexpr std::size_t staging_bytes = std::size_t{8} << 20;

/// Pinned memory for what is on devices; none is needed where there is nothing.
buffer<std::byte> staging_for(const std::vector<std::vector<snapshot_record>>& of_pes) {
  for (const std::vector<snapshot_record>& records : of_pes) {
    for (const snapshot_record& r : records) {
      if (!r.payload.later.empty()) return {*r.payload.later.front().copy.on(), staging_bytes, memory_kind::pinned};
    }
  }
  return {};
}

}  // namespace

checkpointer::checkpointer(chare_pe& pe, const checkpoint_options& options, checkpointed_globals globals)
    : pe_(pe), options_(options), globals_(std::move(globals)), last_made_ns_(pe.now_ns()) {}

checkpointer& checkpointer::of(scheduler& pe) { return static_cast<checkpointer&>(*chare_pe::of(pe).checkpointing); }

// ------------------------------------------------------------------------------------------------ every PE

task<> checkpointer::take() {
  checkpoint_signals::clear();
  taken_.clear();
  taken_ = take_snapshot(pe_, *this);
  if (pe_.id() == 0) {
    taken_.push_back({record_kind::program, {}, {save_program_(), {}}});
    taken_.push_back({record_kind::readonly_values, {}, {globals_.save(), {}}});
  }
  for (const device_stream& s : streams_) co_await s.copies->done();
}

bool checkpointer::save_later(saved_state& to, device& on, const void* from, std::size_t bytes) {
  if (!on.any_thread_reads()) return false;
  auto known = std::ranges::find_if(streams_, [&](const device_stream& s) { return s.on == &on; });
  if (known == streams_.end())
    known = streams_.insert(streams_.end(), {&on, on.make_stream(stream_priority::high, "checkpoint")});
  buffer<std::byte> copy;
  try {
    copy = buffer<std::byte>(on, bytes, memory_kind::device);
  } catch (const out_of_memory&) {
    return false;
  }
  known->copies->copy(copy.data(), from, bytes);
  to.later.push_back({to.bytes.size(), std::move(copy)});
  return true;
}

task<rank_file_facts> checkpointer::write(std::string folder) {
  std::vector<std::vector<snapshot_record>> of_pes;
  for (scheduler* pe : pe_.rank().pes) of_pes.push_back(std::move(of(*pe).taken_));
  const buffer<std::byte> staging = staging_for(of_pes);
  rank_file_facts facts;
  auto written = behind(
      [&] { facts = write_records(folder, pe_.rank().rank, of_pes, std::span(staging.data(), staging.size())); });
  co_await written;
  co_return facts;
}

// ------------------------------------------------------------------------------------------------ PE 0

task<> checkpointer::my_turn() {
  while (running_) {
    turn_wait turn(next_turns_);
    co_await turn;
  }
  running_ = true;
}

void checkpointer::end_turn() {
  running_ = false;
  for (const reply_to& next : std::exchange(next_turns_, {})) send_reply<void>(pe_, next, std::monostate{});
}

task<> checkpointer::take_everywhere() {
  if (!save_program_) {
    throw usage_error(
        "this program cannot be restarted, and so makes no checkpoints: start it as a class that has start, restart "
        "and "
        "serialize, by imbrex::run<program>(argc, argv)");
  }
  const std::int64_t began = pe_.now_ns();
  quiescence_wait quiet;
  co_await quiet;
  const std::int64_t quiet_at = pe_.now_ns();
  auto taken = on_all_pes(take_request{});
  co_await taken;
  quiet_in_ns_ = quiet_at - began;
  taken_in_ns_ = pe_.now_ns() - quiet_at;
}

task<> checkpointer::take_or_drop() {
  std::exception_ptr failure;
  try {
    auto taken = take_everywhere();
    co_await taken;
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return;
  auto dropped = on_all_pes(drop_request{});
  co_await dropped;
  std::rethrow_exception(failure);
}

task<std::string> checkpointer::write_everywhere(std::string base) {
  const std::int64_t began = pe_.now_ns();
  is_writing_ = true;
  const at_end written_or_not{[this] { is_writing_ = false; }};
  partial_checkpoint partial(std::move(base));
  auto written = on_all_pes(write_request{partial.folder()});
  std::vector<rank_file_facts> files = co_await written;
  std::erase_if(files, [](const rank_file_facts& f) { return f.rank < 0; });
  snapshot_facts facts;
  facts.program = program_digest();
  const rank_context& rank = pe_.rank();
  facts.shape = {rank.num_ranks, rank.pes_per_rank, static_cast<std::int32_t>(pe_.gpus.size())};
  facts.kinds = record_kind_names();
  std::uint64_t bytes = 0;
  for (const rank_file_facts& f : files) bytes += f.bytes;
  std::string path;
  auto committed = behind([&] { path = partial.commit(facts, std::move(files), options_.keep); });
  co_await committed;
  constexpr double ms = 1e-6;
  log_info(fmt::format(
      "checkpoint {} is whole: {:.3f} GB, all was quiet in {:.3f} ms, taken in {:.3f} ms, written in {:.1f} ms", path,
      static_cast<double>(bytes) * 1e-9, static_cast<double>(quiet_in_ns_) * ms, static_cast<double>(taken_in_ns_) * ms,
      static_cast<double>(pe_.now_ns() - began) * ms));
  co_return path;
}

task<std::string> checkpointer::make(std::string base) {
  auto turn = my_turn();
  co_await turn;
  const at_end over{[this] { end_turn(); }};
  auto taken = take_or_drop();
  co_await taken;
  let_go(std::exchange(waiting_, {}), true);
  auto written = write_everywhere(std::move(base));
  co_return co_await written;
}

// ------------------------------------------------------------------------------------------------ PE 0: points

bool checkpointer::is_due(const point& p, int signal) {
  auto known = std::ranges::find_if(passed_, [&](const passed& q) { return q.array == p.which.array; });
  if (known == passed_.end()) known = passed_.insert(passed_.end(), {p.which.array});
  ++known->times;
  return signal != 0 || (options_.every_points > 0 && known->times >= options_.every_points) ||
         (options_.every_ns > 0 && pe_.now_ns() - last_made_ns_ >= options_.every_ns);
}

void checkpointer::reached(const point& p, int signal) {
  signal_ = std::max(signal_, signal);
  if (!is_due(p, signal_) || (is_writing_ && signal_ == 0)) return let_go({p}, false);
  waiting_.push_back(p);
  if (waiting_.size() == 1)
    entry_activity::start(pe_, nullptr, "making a checkpoint", make_at_points(), reply_to{},
                          &detail::conclude_entry<void>);
}

void checkpointer::let_go(const std::vector<point>& points, bool made) {
  for (const point& p : points) {
    if (p.root == no_pe) {
      send_reply<bool>(pe_, p.program, bool(made));
    } else {
      pe_.send(p.root, point_over{p.which, made}, priorities::communication);
    }
  }
}

// What fails here is no failure of the program: it goes on, and tries again at a later point.
task<> checkpointer::make_at_points() {
  auto turn = my_turn();
  co_await turn;
  const at_end over{[this] { end_turn(); }};
  if (waiting_.empty()) co_return;  // `make` has made one meanwhile
  std::exception_ptr failure;
  try {
    auto taken = take_or_drop();
    co_await taken;
  } catch (const error&) {
    failure = std::current_exception();
  }
  passed_.clear();
  const int signal = std::exchange(signal_, 0);
  const std::vector<point> points = std::exchange(waiting_, {});
  if (signal != SIGTERM || failure) let_go(points, failure == nullptr);
  if (!failure) {
    try {
      auto written = write_everywhere(options_.folder);
      co_await written;
    } catch (const error&) {
      failure = std::current_exception();
      if (signal == SIGTERM) let_go(points, false);
    }
  }
  last_made_ns_ = pe_.now_ns();
  if (failure) {
    if (signal == SIGTERM) signal_ = SIGTERM;  // the next point may be a better one
    try {
      std::rethrow_exception(failure);
    } catch (const error& e) {
      log_warning(fmt::format("no checkpoint was made, the job goes on: {}", e.what()));
    }
    co_return;
  }
  if (signal == SIGTERM) {
    log_warning(fmt::format("the job ends by a signal (SIGTERM); its newest checkpoint is in {}", options_.folder));
    pe_.exit_job(128 + SIGTERM, false);
  }
}

}  // namespace imbrex

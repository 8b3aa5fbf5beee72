#include "imbrex/checkpoint/live/checkpointer.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <span>
#include <variant>

#include <fmt/format.h>

#include "imbrex/async/behind.h"
#include "imbrex/base/clock.h"
#include "imbrex/base/log.h"
#include "imbrex/checkpoint/checkpoint_folder.h"
#include "imbrex/checkpoint/live/checkpoint_signal.h"
#include "imbrex/checkpoint/live/memory_exchange.h"
#include "imbrex/checkpoint/live/point_messages.h"
#include "imbrex/checkpoint/live/record_writing.h"
#include "imbrex/checkpoint/live/tree_call.h"
#include "imbrex/checkpoint/memory/memory_sink.h"
#include "imbrex/checkpoint/partial_checkpoint.h"
#include "imbrex/comm/rank_lost.h"
#include "imbrex/object/program_digest.h"
#include "imbrex/object/state/element_state.h"
#include "imbrex/object/state/object_reading.h"
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
  std::uint64_t number = 0;
  task<result> on_pe(chare_pe& pe) {
    if (pe.id() != pe.rank().first_pe()) co_return rank_file_facts{.rank = -1, .kinds = {}};
    auto written = checkpointer::of(pe).write(folder, number);
    co_return co_await written;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & folder & number;
  }
};

struct keep_request {
  using result = rank_file_facts;
  static constexpr const char* name = "keeping a checkpoint in memory";
  std::uint64_t number = 0;
  snapshot_facts facts;
  task<result> on_pe(chare_pe& pe) {
    if (pe.id() != pe.rank().first_pe()) co_return rank_file_facts{.rank = -1, .kinds = {}};
    auto kept = checkpointer::of(pe).keep(number, facts);
    co_return co_await kept;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & number & facts;
  }
};

struct protect_request {
  using result = std::monostate;
  static constexpr const char* name = "protecting a checkpoint in memory";
  std::uint64_t number = 0;
  std::vector<rank_file_facts> files;  // by rank
  task<result> on_pe(chare_pe& pe) {
    if (pe.id() == pe.rank().first_pe()) {
      auto is_safe = checkpointer::of(pe).protect(number, files);
      co_await is_safe;
    }
    co_return std::monostate{};
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & number & files;
  }
};

/// All ranks have it, or it is given up.
struct commit_request {
  using result = std::monostate;
  static constexpr const char* name = "committing a checkpoint in memory";
  std::uint64_t number = 0;
  bool is_whole = false;
  task<result> on_pe(chare_pe& pe) {
    if (pe.id() == pe.rank().first_pe()) {
      rank_memory& memory = *checkpointer::of(pe).memory();
      is_whole ? memory.store.commit(number) : memory.store.drop(number);
      memory.forget_contents();
    }
    co_return std::monostate{};
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & number & is_whole;
  }
};

/// The next run of the job has so many PEs of each rank.
struct next_pes_request {
  using result = std::monostate;
  static constexpr const char* name = "changing the number of PEs";
  int pes = 0;
  task<result> on_pe(chare_pe& pe) {
    if (pe.id() == pe.rank().first_pe()) checkpointer::of(pe).memory()->next_pes = pes;
    co_return std::monostate{};
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & pes;
  }
};

struct forget_request {
  using result = std::monostate;
  static constexpr const char* name = "forgetting a checkpoint in memory";
  task<result> on_pe(chare_pe& pe) {
    if (pe.id() == pe.rank().first_pe()) {
      checkpointer::of(pe).memory()->store.keep_only(0);
      checkpointer::of(pe).memory()->forget_contents();
    }
    co_return std::monostate{};
  }
  template <class Archive>
  void serialize(Archive&) {}
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

}  // namespace

checkpointer::checkpointer(chare_pe& pe, const checkpoint_options& options, checkpointed_globals globals,
                           rank_memory* memory)
    : pe_(pe),
      options_(options),
      globals_(std::move(globals)),
      memory_(memory),
      to_files_(!options.folder.empty(), options.every_ns, options.every_points, pe.now_ns()),
      to_memory_(memory != nullptr && options.in_memory() && pe.rank().num_ranks > 1, options.memory_every_ns,
                 options.memory_every_points, pe.now_ns()) {}

checkpointer::~checkpointer() {
  if (next_pes_ == 0) return;
  log_warning(
      fmt::format("the job did not go on with {} PEs of each rank, as resize was told: no checkpoint could be "
                  "made for that, or no point for one came after it",
                  next_pes_));
}

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
  auto read = read_objects();
  co_await read;
  for (const device_stream& s : streams_) co_await s.copies->done();
}

/// All are asked for by now, and each is there when its turn comes.
task<> checkpointer::read_objects() {
  std::vector<stream*> copied;
  for (snapshot_record& r : taken_) {
    for (saved_state::piece& p : r.payload.later) {
      if (p.reading == nullptr) continue;
      co_await p.reading->come();
      const std::shared_ptr<detail::object_reading> reading = std::move(p.reading);
      if (stream* const s = reading->give(p); s != nullptr && std::ranges::find(copied, s) == copied.end())
        copied.push_back(s);
    }
  }
  for (stream* const s : copied) co_await s->done();
}

bool checkpointer::save_later(saved_state& to, device& of, const void* from, std::size_t bytes) {
  if (!of.any_thread_reads()) return false;
  device& on = detail::handle_here(of);
  auto known = std::ranges::find_if(streams_, [&](const device_stream& s) { return s.on == &on; });
  if (known == streams_.end()) {
    known = streams_.insert(streams_.end(), {&on, on.make_stream(stream_priority::high, "checkpoint")});
    known->copies->follows_nobody();  // though it was made in the turn of a chare
  }
  buffer<std::byte> copy;
  try {
    copy = buffer<std::byte>(on, bytes, memory_kind::device);
  } catch (const out_of_memory&) {
    return false;
  }
  known->copies->copy(copy.data(), from, bytes);
  to.later.push_back({.at = to.bytes.size(), .copy = std::move(copy)});
  return true;
}

task<rank_file_facts> checkpointer::write(std::string folder, std::uint64_t number) {
  rank_file_facts facts;
  const rank_id rank = pe_.rank().rank;
  if (number != 0) {
    const memory_part& part = *memory_->store.find(number);
    facts = part.about.files.at(static_cast<std::size_t>(part.about.layout.place_of(rank)));
    auto copied = behind([&] { write_image(folder, rank, part.image); });
    co_await copied;
    co_return facts;
  }
  records_of_pes of_pes;
  for (scheduler* pe : pe_.rank().pes) of_pes.push_back(std::move(of(*pe).taken_));
  const buffer<std::byte> staging = staging_for(of_pes);
  auto written = behind([&] {
    snapshot_writer file(folder, rank);
    facts = write_records(file, of_pes, std::span(staging.data(), staging.size()));
  });
  co_await written;
  co_return facts;
}

task<rank_file_facts> checkpointer::keep(std::uint64_t number, snapshot_facts facts) {
  records_of_pes of_pes;
  for (scheduler* pe : pe_.rank().pes) of_pes.push_back(std::move(of(*pe).taken_));
  const buffer<std::byte> staging = staging_for(of_pes);
  memory_part& part = memory_->store.begin(number);
  part.about.rank = pe_.rank().rank;
  part.about.facts = std::move(facts);
  part.made_at_ns = now_ns();
  rank_file_facts own;
  auto kept = behind([&] {
    memory_sink image(part.image, expected_bytes(of_pes));
    snapshot_writer to(image, pe_.rank().rank);
    own = write_records(to, of_pes, std::span(staging.data(), staging.size()));
  });
  co_await kept;
  co_return own;
}

task<> checkpointer::protect(std::uint64_t number, std::vector<rank_file_facts> files) {
  memory_part_facts& about = memory_->store.find(number)->about;
  about.layout = memory_->group_of(about.rank);
  std::uint64_t largest = 0;
  for (const std::int32_t m : about.layout.members) {
    about.files.push_back(files.at(static_cast<std::size_t>(m)));
    largest = std::max(largest, about.files.back().bytes);
  }
  about.layout.fit(largest);
  auto computed = compute_parity(pe_, number);
  co_await computed;
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

snapshot_facts checkpointer::facts_of_job() const {
  snapshot_facts facts;
  facts.program = program_digest();
  const rank_context& rank = pe_.rank();
  facts.shape = {rank.num_ranks, rank.pes_per_rank, static_cast<std::int32_t>(pe_.gpus.size())};
  facts.kinds = record_kind_names();
  return facts;
}

namespace {
constexpr double ms = 1e-6;

std::uint64_t bytes_of(const std::vector<rank_file_facts>& files) {
  std::uint64_t bytes = 0;
  for (const rank_file_facts& f : files) bytes += f.bytes;
  return bytes;
}
}  // namespace

task<std::string> checkpointer::write_everywhere(std::string base, std::uint64_t number) {
  const std::int64_t began = pe_.now_ns();
  partial_checkpoint partial(std::move(base));
  auto written = on_all_pes(write_request{partial.folder(), number});
  std::vector<rank_file_facts> files = co_await written;
  std::erase_if(files, [](const rank_file_facts& f) { return f.rank < 0; });
  const std::uint64_t bytes = bytes_of(files);
  std::string path;
  auto committed = behind([&] { path = partial.commit(facts_of_job(), std::move(files), options_.keep); });
  co_await committed;
  log_info(fmt::format(
      "checkpoint {} is whole: {:.3f} GB, all was quiet in {:.3f} ms, taken in {:.3f} ms, written in {:.1f} ms", path,
      static_cast<double>(bytes) * 1e-9, static_cast<double>(quiet_in_ns_) * ms, static_cast<double>(taken_in_ns_) * ms,
      static_cast<double>(pe_.now_ns() - began) * ms));
  co_return path;
}

task<std::uint64_t> checkpointer::keep_everywhere() {
  const std::int64_t began = pe_.now_ns();
  // A rank that was a spare one has none of those that the others have.
  const std::uint64_t number = std::max(memory_->store.largest_number(), memory_->plan.number) + 1;
  std::exception_ptr failure;
  std::uint64_t bytes = 0;
  try {
    auto kept = on_all_pes(keep_request{number, facts_of_job()});
    std::vector<rank_file_facts> files = co_await kept;
    std::erase_if(files, [](const rank_file_facts& f) { return f.rank < 0; });
    std::ranges::sort(files, {}, &rank_file_facts::rank);
    bytes = bytes_of(files);
    auto is_safe = on_all_pes(protect_request{number, std::move(files)});
    co_await is_safe;
  } catch (...) {
    failure = std::current_exception();
  }
  auto told = on_all_pes(commit_request{number, failure == nullptr});
  co_await told;
  if (failure) std::rethrow_exception(failure);
  log_info(fmt::format(
      "checkpoint {} is in memory: {:.3f} GB, all was quiet in {:.3f} ms, taken in {:.3f} ms, kept in {:.1f} ms",
      number, static_cast<double>(bytes) * 1e-9, static_cast<double>(quiet_in_ns_) * ms,
      static_cast<double>(taken_in_ns_) * ms, static_cast<double>(pe_.now_ns() - began) * ms));
  co_return number;
}

task<std::string> checkpointer::make(std::string base) {
  auto turn = my_turn();
  co_await turn;
  const at_end over{[this] { end_turn(); }};
  auto taken = take_or_drop();
  co_await taken;
  is_writing_ = true;
  const at_end written_or_not{[this] { is_writing_ = false; }};
  let_go(std::exchange(waiting_, {}), true);
  auto written = write_everywhere(std::move(base), 0);
  co_return co_await written;
}

task<std::uint64_t> checkpointer::make_in_memory() {
  if (memory_ == nullptr)
    throw usage_error("no checkpoints are kept in memory: start the job with --imbrex-checkpoint-memory=EVERY");
  auto turn = my_turn();
  co_await turn;
  const at_end over{[this] { end_turn(); }};
  auto taken = take_or_drop();
  co_await taken;
  is_writing_ = true;
  const at_end written_or_not{[this] { is_writing_ = false; }};
  let_go(std::exchange(waiting_, {}), true);
  auto kept = keep_everywhere();
  co_return co_await kept;
}

// ------------------------------------------------------------------------------------------------ PE 0: points

void checkpointer::reached(const point& p, int signal) {
  signal_ = std::max(signal_, signal);
  const bool memory_is_due = to_memory_.is_due_at(p.which.array, pe_.now_ns());
  const bool files_are_due = to_files_.is_due_at(p.which.array, pe_.now_ns()) || signal_ != 0;
  const bool any = memory_is_due || files_are_due || next_pes_ != 0;
  const bool cannot_wait = signal_ != 0 || next_pes_ != 0;
  if (!any || (is_writing_ && !cannot_wait)) return let_go({p}, false);
  due_.in_files |= files_are_due;
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

task<> checkpointer::store(wanted what) {
  std::uint64_t number = 0;
  if (what.in_memory) {
    auto kept = keep_everywhere();
    number = co_await kept;
    to_memory_.made(pe_.now_ns());
  }
  if (!what.in_files) co_return;
  auto written = write_everywhere(options_.folder, number);
  co_await written;
}

task<> checkpointer::begin_again_with(int pes) {
  auto told = on_all_pes(next_pes_request{pes});
  co_await told;
  pe_.exit_job(begin_again, false);
}

task<> checkpointer::forget_memory() {
  auto forgotten = on_all_pes(forget_request{});
  co_await forgotten;
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
  // What is taken for files is kept in memory, too: it is the newest then.
  wanted what = std::exchange(due_, {});
  what.pes = std::exchange(next_pes_, 0);
  what.in_memory = to_memory_.is_on() || what.pes != 0;
  to_memory_.taken();
  if (what.in_files) to_files_.taken();
  const int signal = std::exchange(signal_, 0);
  const std::vector<point> points = std::exchange(waiting_, {});
  is_writing_ = true;
  const at_end written_or_not{[this] { is_writing_ = false; }};
  const bool goes_on_here = signal != SIGTERM && what.pes == 0;
  if (goes_on_here || failure) let_go(points, failure == nullptr);
  if (!failure) {
    try {
      auto stored = store(what);
      co_await stored;
    } catch (const error&) {
      failure = std::current_exception();
      if (!goes_on_here) let_go(points, false);
    }
  }
  to_memory_.made(pe_.now_ns());
  if (what.in_files) to_files_.made(pe_.now_ns());
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
  } else if (what.pes != 0) {
    auto again = begin_again_with(what.pes);
    co_await again;
  }
}

}  // namespace imbrex

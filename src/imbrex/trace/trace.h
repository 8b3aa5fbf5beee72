#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "imbrex/base/ids.h"
#include "imbrex/base/time_source.h"
#include "imbrex/trace/profiler_range.h"

/// What PEs and streams did and when, for Perfetto and for `imbrex trace summary`. Whoever traces holds a
/// `trace_track*` that is null when tracing is off, so that off costs one predictable branch:
///
///     if (track_ != nullptr) track_->begin(name, trace_category::entry);
///
/// All times are `now_ns()`, or of the source that a track was told of. Names are kept as pointers: static strings, or
/// made by `trace_recorder::intern`.
namespace imbrex {

/// What an event of a trace is: `user` is a program's own mark.
enum class trace_category { entry, wait, idle, comm, kernel, copy, runtime, user, task };
/// As traces name it.
const char* to_string(trace_category c);

/// Who does what a track shows: a PE's thread, or a stream of a device.
enum class track_kind { pe, stream };

/// How far a message goes.
enum class message_reach { same_pe, other_pe, other_rank };

/// A task: what it waited for, and when. Times are as of its PE's track; 0: that never came.
struct trace_task {
  std::uint64_t number = 0;     ///< among those of its track
  const char* name = "task";    ///< static lifetime, or interned
  const char* place = nullptr;  ///< where it ran; static lifetime, or interned
  std::int64_t submitted = 0;
  std::int64_t ready = 0;  ///< the tasks that it had to wait for had let it go
  std::int64_t began = 0;  ///< to run; on a device: was enqueued
  std::int64_t ended = 0;
  bool failed = false;
  std::vector<std::uint64_t> after{};  ///< numbers of tasks: those that it waited for, and whose data it read
};

/// One line of the picture. Written by one thread; read by `trace_recorder::json_fragment` when that thread writes no
/// more. Slices nest: the last begun ends first. No slice may start before the previous record of the track.
class trace_track {
 public:
  trace_track(const trace_track&) = delete;
  trace_track& operator=(const trace_track&) = delete;

  /// Of whom the moment is asked where a call names none; without this, the machine.
  void take_time_from(const time_source& t) { time_ = &t; }
  static constexpr std::int64_t right_now = INT64_MIN + 1;

  /// A slice starts; it lasts until the matching `end`. What is still open at the end of the job ends there. Profilers
  /// of GPUs see the slices of PEs, too.
  void begin(const char* name, trace_category category, std::int64_t at = right_now) {
    begin_profiler_range(name);
    open_.push_back(append(kind::slice, name, category, moment(at), still_open));
  }
  /// The last begun slice ends. Without an open slice nothing happens.
  void end(std::int64_t at = right_now) {
    if (open_.empty()) return;
    end_profiler_range();
    last_ = moment(at);
    if (open_.back() != nullptr) open_.back()->end = last_;
    open_.pop_back();
  }
  /// A slice that is over, e.g. a kernel of a stream.
  void slice(const char* name, trace_category category, std::int64_t start, std::int64_t end) {
    append(kind::slice, name, category, start, end);
    last_ = end;
  }
  void instant(const char* name, trace_category category, std::int64_t at = right_now) {
    at = moment(at);
    append(kind::instant, name, category, at, at);
  }
  /// A number from now on.
  void counter(const char* name, double value, std::int64_t at = right_now) {
    append(kind::counter, name, trace_category::user, moment(at), std::bit_cast<std::int64_t>(value));
  }

  /// A range of the program's own. One that begins and ends in the same slice is a slice inside it; others, from a
  /// coroutine that waits in between, stand on a line of their own, as waits do. What is still open at the end of the
  /// job ends there. Ranges within one slice nest.
  class range {
    friend class trace_track;
    void* at_ = nullptr;         // its record; null: the track was full
    void* enclosing_ = nullptr;  // the record of the slice that was open
    std::size_t depth_ = 0;
  };
  range range_begin(const char* name, std::int64_t at = right_now) {
    range r;
    r.at_ = append(kind::slice, name, trace_category::user, moment(at), still_open);
    r.depth_ = open_.size();
    r.enclosing_ = open_.empty() ? nullptr : open_.back();
    return r;
  }
  void range_end(const range& r, std::int64_t at = right_now) {
    auto* const begun = static_cast<record*>(r.at_);
    if (begun == nullptr) return;
    at = moment(at);
    if (open_.size() == r.depth_ && (open_.empty() ? nullptr : open_.back()) == r.enclosing_) {
      begun->end = at;
      last_ = at;
      return;
    }
    begun->what = kind::wait_begin;
    begun->end = address(begun);
    append(kind::wait_end, begun->name, trace_category::user, at, address(begun));
  }

  void idle_begin(std::int64_t at = right_now) { begin("idle", trace_category::idle, at); }
  void idle_end(std::int64_t at = right_now) { end(at); }

  /// A coroutine leaves the PE to wait, and goes on later on the same PE. Drawn on a line of its own under the process.
  /// `who` tells waits apart that overlap in time: the address of the waiting place. A wait given up ends, too.
  void wait_begin(const char* name, const void* who, std::int64_t at = right_now) {
    append(kind::wait_begin, name, trace_category::wait, moment(at), address(who));
  }
  void wait_end(const char* name, const void* who, std::int64_t at = right_now) {
    append(kind::wait_end, name, trace_category::wait, moment(at), address(who));
  }

  /// A message leaves the slice that is open now, and arrives in the one open where `flow_in` is called with the same
  /// id: an arrow. `new_flow` makes the id (unique in the job, never 0) and calls `flow_out`.
  std::uint64_t new_flow(std::int64_t at = right_now) {
    const std::uint64_t id = ++last_flow_;
    flow_out(id, at);
    return id;
  }
  /// As `new_flow`, of a task that the task whose slice was the last to end lets go.
  std::uint64_t new_task_flow() {
    const std::uint64_t id = ++last_flow_;
    append(kind::flow_out, "task", trace_category::task, last_ - 1, static_cast<std::int64_t>(id));
    return id;
  }
  void task_flow_in(std::uint64_t id) {
    append(kind::flow_in, "task", trace_category::task, moment(right_now), static_cast<std::int64_t>(id));
  }
  /// One that is over.
  void task(trace_task t) {
    if (tasks_.size() < max_records_) {
      tasks_.push_back(std::move(t));
    } else {
      ++num_dropped_;
    }
  }

  void flow_out(std::uint64_t id, std::int64_t at = right_now) {
    append(kind::flow_out, "message", trace_category::comm, moment(at), static_cast<std::int64_t>(id));
  }
  void flow_in(std::uint64_t id, std::int64_t at = right_now) {
    append(kind::flow_in, "message", trace_category::comm, moment(at), static_cast<std::int64_t>(id));
  }

  /// Adds to the totals of what this PE sent. Records nothing.
  void count_message(std::uint64_t bytes, message_reach reach) {
    const auto i = static_cast<std::size_t>(reach);
    messages_[i] += 1;
    bytes_[i] += bytes;
  }

  const std::string& name() const { return name_; }
  std::uint64_t num_records() const { return num_records_; }
  /// Records left out because the track had reached its limit.
  std::uint64_t num_dropped() const { return num_dropped_; }

 private:
  friend class trace_recorder;
  friend class trace_writer;

  enum class kind { slice, instant, wait_begin, wait_end, flow_out, flow_in, counter };
  struct record {
    const char* name;
    std::int64_t start;
    std::int64_t end;  // slices; a counter's value; an id otherwise
    kind what;
    trace_category category;
  };
  static_assert(sizeof(record) == 32);
  static constexpr std::int64_t still_open = INT64_MIN;
  static constexpr std::size_t chunk_records = 2048;
  struct chunk {
    std::unique_ptr<record[]> records;
    std::size_t size;
  };

  trace_track(std::string name, track_kind what, int order, std::uint64_t first_flow, std::uint64_t max_records)
      : name_(std::move(name)), kind_(what), order_(order), last_flow_(first_flow), max_records_(max_records) {}

  static std::int64_t address(const void* p) { return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p)); }

  record* append(kind what, const char* name, trace_category category, std::int64_t start, std::int64_t end) {
    last_ = start;
    if (next_ == chunk_end_) [[unlikely]] {
      if (!grow()) return nullptr;
    }
    *next_ = record{name, start, end, what, category};
    ++num_records_;
    return next_++;
  }
  std::int64_t moment(std::int64_t at) const {
    if (at != right_now) return at;
    return time_ == nullptr ? imbrex::now_ns() : time_->now_ns();
  }
  bool grow();
  const record& at(std::uint64_t i) const { return chunks_[i / chunk_records].records[i % chunk_records]; }

  const time_source* time_ = nullptr;
  record* next_ = nullptr;
  record* chunk_end_ = nullptr;
  std::int64_t last_ = 0;
  std::uint64_t num_records_ = 0;
  std::uint64_t num_dropped_ = 0;
  std::uint64_t messages_[3] = {};
  std::uint64_t bytes_[3] = {};
  std::vector<record*> open_;  // null: begun when the track was full
  std::vector<chunk> chunks_;
  std::vector<trace_task> tasks_;
  std::string name_;
  track_kind kind_;
  int order_;
  std::uint64_t last_flow_;
  std::uint64_t max_records_;
};

/// All tracks of one rank. Tracks live as long as the recorder.
class trace_recorder {
 public:
  /// Records of one track; what comes later is counted and left out (32 bytes each).
  static constexpr std::uint64_t default_max_records = 8'000'000;

  /// Nothing is kept but names: of a rank that is left out of a trace, so that arrows from it have their numbers.
  static constexpr std::uint64_t keep_nothing = 0;

  /// Time 0 of the picture is `start_ns`, a value of `now_ns()` on this host: the same moment for all ranks.
  explicit trace_recorder(rank_id rank, std::int64_t start_ns = imbrex::now_ns(),
                          std::uint64_t max_records = default_max_records);

  /// A new line, shown at place `order` (ascending) of its process; any thread. `name` as shown, e.g. "PE 3".
  trace_track& add_track(std::string name, int order, track_kind what = track_kind::pe);

  /// A copy of `text` that lives as long as the recorder, the same pointer for the same text; any thread.
  const char* intern(const std::string& text);

  rank_id rank() const { return rank_; }
  std::int64_t start_ns() const { return start_ns_; }

  /// The events of this rank, separated by commas; when no track is written to any more. Empty where nothing is kept.
  std::string json_fragment() const;

 private:
  rank_id rank_;
  std::int64_t start_ns_;
  std::uint64_t max_records_;
  mutable std::mutex mutex_;
  std::deque<std::unique_ptr<trace_track>> tracks_;
  std::unordered_set<std::string> names_;
};

}  // namespace imbrex

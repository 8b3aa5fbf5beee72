#pragma once

#include <string>
#include <string_view>

#include "imbrex/async/executor.h"
#include "imbrex/trace/trace.h"

/// A program's own marks in the trace that `--imbrex-trace` records: ranges, instants and counters, by name. On PEs, at
/// any place of an entry method or of what it calls; elsewhere, and without a trace, nothing happens and costs next to
/// nothing. Names are copied.
namespace imbrex {

namespace detail {
/// The line of the PE whose thread this is; null when nothing is recorded.
inline trace_track* current_track() {
  const executor* const pe = executor::current();
  return pe == nullptr ? nullptr : pe->track;
}
const char* kept_name(std::string_view name);
}  // namespace detail

/// What its block takes: `imbrex::trace_range r("assemble");`. One that its coroutine leaves to wait in between is
/// drawn on a line of its own, and lasts until the coroutine has come back and left the block. Ends early by `end`.
class [[nodiscard]] trace_range {
 public:
  [[nodiscard]] explicit trace_range(std::string_view name) : track_(detail::current_track()) {
    if (track_ != nullptr) [[unlikely]]
      begin(name);
  }
  trace_range(const trace_range&) = delete;
  trace_range& operator=(const trace_range&) = delete;
  ~trace_range() { end(); }
  void end() {
    if (track_ != nullptr) [[unlikely]] {
      track_->range_end(range_);
      track_ = nullptr;
    }
  }

 private:
  void begin(std::string_view name);

  trace_track* track_;
  trace_track::range range_;
};

/// A moment: `imbrex::trace_mark("converged");`.
inline void trace_mark(std::string_view name) {
  if (trace_track* const t = detail::current_track(); t != nullptr) [[unlikely]]
    t->instant(detail::kept_name(name), trace_category::user);
}

/// A number from now on, such as how long a queue of the program's is: `imbrex::trace_counter("cells", cells.size());`.
/// One curve for each name and PE.
inline void trace_counter(std::string_view name, double value) {
  if (trace_track* const t = detail::current_track(); t != nullptr) [[unlikely]]
    t->counter(detail::kept_name(name), value);
}

}  // namespace imbrex

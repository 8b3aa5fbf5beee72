#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// What a trace file says, in numbers. All times in nanoseconds.
namespace imbrex {

/// An entry method: a run is one stay on a PE, so a method that waits has several. Times are its own: what runs nested
/// inside it (the coroutine that a message resumes, a kernel) counts for itself.
struct entry_summary {
  std::string name;
  std::uint64_t runs = 0;
  std::int64_t total = 0;
  std::int64_t longest = 0;
  std::uint64_t waits = 0;
  std::int64_t waited = 0;  ///< time off the PE between two runs, summed over all chares

  double mean() const { return runs == 0 ? 0 : static_cast<double>(total) / static_cast<double>(runs); }
};

struct message_totals {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

/// A PE or stream. `busy`: entry methods, kernels and copies; what is neither busy nor idle is the runtime itself.
/// `in_flight`: a message for this PE was on its way from another one; `overlapped`: and the PE was busy meanwhile.
struct track_summary {
  std::int64_t rank = 0;
  std::string name;
  bool is_pe = true;
  std::int64_t busy = 0;
  std::int64_t idle = 0;
  std::int64_t in_flight = 0;
  std::int64_t overlapped = 0;
};

/// A range, instant or counter of the program's own (async/trace_range.h). Of ranges the times, of counters the values.
struct mark_summary {
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t no_numbers = 0;  ///< NaN and infinities among them, which are in none of these
  double total = 0;
  double least = 0;
  double most = 0;
  double last = 0;

  double mean() const { return count == no_numbers ? 0 : total / static_cast<double>(count - no_numbers); }
  void add(double value);
};

struct trace_summary {
  std::int64_t duration = 0;           ///< from the first event to the last
  std::vector<entry_summary> entries;  ///< longest total first
  std::vector<entry_summary> kernels;  ///< kernels and copies of streams, likewise
  std::vector<mark_summary> ranges;    ///< the program's own, longest total first; nanoseconds
  std::vector<mark_summary> instants;  ///< likewise, by name
  std::vector<mark_summary> counters;  ///< likewise, by name, of all PEs together
  std::vector<track_summary> tracks;   ///< by rank, then in the order shown
  message_totals same_pe, other_pe, other_rank;
  std::uint64_t dropped = 0;  ///< events that the recorder had no room for
  /// On GPUs: time with a copy under way, summed over the GPUs, and how much of it a kernel ran as well.
  std::int64_t copying = 0, hidden = 0;

  /// Share of the time with messages in flight, over all PEs, during which the receiving PE was busy; 0 without
  /// messages.
  double overlap() const;
  /// Idle time of all PEs by their number and the duration.
  double idle_share() const;
};

/// Reads a trace (complete slices, waits, flows and imbrex's totals; other events are passed over). Throws
/// `config_error` naming the file when it cannot be read, is no trace or has no slices, `error` when it is damaged.
trace_summary read_trace_summary(const std::string& path);

/// The same from the text of the file; `name` stands in messages.
trace_summary summarise_trace(const std::string& json_text, const std::string& name = "trace");

}  // namespace imbrex

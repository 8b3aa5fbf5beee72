#include "imbrex/trace/trace_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/trace/trace_event.h"

namespace imbrex {

namespace {

struct interval {
  std::int64_t start, end;
};
using intervals = std::vector<interval>;

// Sorted and disjoint.
intervals merged(intervals list) {
  std::sort(list.begin(), list.end(), [](const interval& a, const interval& b) { return a.start < b.start; });
  intervals result;
  for (const interval& i : list) {
    if (i.end <= i.start) continue;
    if (!result.empty() && i.start <= result.back().end) {
      result.back().end = std::max(result.back().end, i.end);
    } else {
      result.push_back(i);
    }
  }
  return result;
}

std::int64_t length(const intervals& list) {
  std::int64_t sum = 0;
  for (const interval& i : list) sum += i.end - i.start;
  return sum;
}

// Time that lies in both of two merged lists.
std::int64_t common_length(const intervals& a, const intervals& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max<std::int64_t>(std::min(a[i].end, b[j].end) - std::max(a[i].start, b[j].start), 0);
    if (a[i].end < b[j].end) {
      ++i;
    } else {
      ++j;
    }
  }
  return sum;
}

using track_key = std::pair<std::int64_t, std::int64_t>;  // process, thread

/// A stay of an entry method or kernel on a track; `inner` is what ran nested inside it, counted for itself.
struct stay {
  std::int64_t start, end;
  entry_summary* of;
  std::int64_t inner = 0;
};

struct track_events {
  std::string name;
  std::int64_t order = 0;
  bool is_pe = true;
  intervals busy, idle, in_flight;
  intervals copies, kernels;
  std::vector<stay> stays;
};

struct flow_end {
  track_key track;
  std::int64_t at;
};

/// Takes the events one by one: those of a track in their order, the tracks in any order.
class collector {
 public:
  explicit collector(const std::string& file) : file_(file) {}

  void take(const trace_event& event) {
    ++num_;
    const std::string_view phase = event.text("ph");
    if (phase.size() != 1) return;
    key_ = {static_cast<std::int64_t>(event.number("pid")), static_cast<std::int64_t>(event.number("tid"))};
    if (phase == "M") return take_metadata(event);
    check_times(event, phase);
    const std::int64_t at = event.nanoseconds("ts");
    note_time(at);
    switch (phase.front()) {
      case 'X': return take_slice(event, at);
      case 'b':
      case 'e': return take_wait(event, phase == "b", at);
      case 's':
        if (event.text("cat") == "comm") flow_starts_[event.id("id")] = {key_, at};
        return;
      case 'f':
        if (event.text("cat") == "comm") flow_ends_[event.id("id")] = {key_, at};
        return;
      case 'i':
        if (event.text("cat") == "user") mark(instants_, event).add(0);
        return;
      case 'C':
        if (event.text("cat") == "user")
          mark(counters_, event).add(event.has_number("args.value") ? event.number("args.value") : NAN);
        return;
      default: return;
    }
  }

  trace_summary finish() {
    match_flows();
    for (auto& [key, track] : tracks_) add_own_times(track.stays);
    if (first_) summary_.duration = last_ - *first_;
    summary_.entries = by_total(entries_);
    summary_.kernels = by_total(kernels_);
    summary_.ranges = in_order(ranges_);
    std::sort(summary_.ranges.begin(), summary_.ranges.end(), [](const mark_summary& a, const mark_summary& b) {
      return std::tie(b.total, a.name) < std::tie(a.total, b.name);
    });
    summary_.instants = in_order(instants_);
    summary_.counters = in_order(counters_);
    summary_.tracks = finish_tracks();
    add_hidden_copies();
    return std::move(summary_);
  }

 private:
  // Read as 0 it would be a wrong summary that looks like one.
  void check_times(const trace_event& event, std::string_view phase) const {
    const bool is_slice = phase == "X";
    const char* const missing = !event.has_number("ts") ? "ts" : is_slice && !event.has_number("dur") ? "dur" : nullptr;
    if (missing != nullptr)
      throw error(fmt::format("{}: event {}, '{}', has no number '{}': this is no trace of a whole run", file_, num_,
                              event.text("name"), missing));
    if (is_slice && event.number("dur") < 0)
      throw error(fmt::format("{}: event {}, '{}', lasts {} us", file_, num_, event.text("name"), event.number("dur")));
  }

  using named = std::map<std::string, entry_summary, std::less<>>;
  using marks = std::map<std::string, mark_summary>;

  static mark_summary& mark(marks& list, const trace_event& event) {
    mark_summary& m = list[std::string(event.text("name"))];
    m.name = event.text("name");
    return m;
  }
  static std::vector<mark_summary> in_order(const marks& list) {
    std::vector<mark_summary> sorted;
    sorted.reserve(list.size());
    for (const auto& [name, m] : list) sorted.push_back(m);
    return sorted;
  }

  void note_time(std::int64_t at) {
    first_ = std::min(first_.value_or(at), at);
    last_ = std::max(last_, at);
  }

  void take_metadata(const trace_event& event) {
    const std::string_view what = event.text("name");
    if (what == "thread_name") tracks_[key_].name = event.text("args.name");
    if (what == "thread_sort_index") tracks_[key_].order = static_cast<std::int64_t>(event.number("args.sort_index"));
    if (what != "imbrex_track") return;
    tracks_[key_].is_pe = event.text("args.kind") != "stream";
    add_totals(event, "args.same_pe", summary_.same_pe);
    add_totals(event, "args.other_pe", summary_.other_pe);
    add_totals(event, "args.other_rank", summary_.other_rank);
    summary_.dropped += count(event, "args.dropped");
  }

  static std::uint64_t count(const trace_event& event, const char* field, std::size_t index = 0) {
    return static_cast<std::uint64_t>(std::max(event.number(field, index), 0.0));
  }

  static void add_totals(const trace_event& event, const char* field, message_totals& to) {
    to.count += count(event, field, 0);
    to.bytes += count(event, field, 1);
  }

  static entry_summary& of(named& list, std::string_view name) {
    auto at = list.find(name);
    if (at == list.end()) {
      at = list.emplace(std::string(name), entry_summary{}).first;
      at->second.name = name;
    }
    return at->second;
  }

  void take_slice(const trace_event& event, std::int64_t start) {
    const std::int64_t duration = event.nanoseconds("dur");
    note_time(start + duration);
    const std::string_view category = event.text("cat");
    if (category == "user") return mark(ranges_, event).add(static_cast<double>(duration));
    const bool is_entry = category == "entry";
    const bool is_kernel = category == "kernel" || category == "copy";
    track_events& track = tracks_[key_];
    if (is_entry || is_kernel) track.busy.push_back({start, start + duration});
    if (category == "copy") track.copies.push_back({start, start + duration});
    if (category == "kernel") track.kernels.push_back({start, start + duration});
    if (category == "idle") track.idle.push_back({start, start + duration});
    if (!is_entry && !is_kernel) return;
    entry_summary& e = of(is_entry ? entries_ : kernels_, event.text("name"));
    e.runs += 1;
    track.stays.push_back({start, start + duration, &e});
  }

  // A message that resumes a coroutine contains that coroutine's run: each instant counts for the innermost.
  static void add_own_times(std::vector<stay>& stays) {
    std::sort(stays.begin(), stays.end(),
              [](const stay& a, const stay& b) { return std::tie(a.start, b.end) < std::tie(b.start, a.end); });
    std::vector<stay*> open;
    for (stay& s : stays) {
      while (!open.empty() && open.back()->end <= s.start) open.pop_back();
      if (!open.empty()) open.back()->inner += s.end - s.start;
      open.push_back(&s);
    }
    for (const stay& s : stays) {
      const std::int64_t own = s.end - s.start - s.inner;
      s.of->total += own;
      s.of->longest = std::max(s.of->longest, own);
    }
  }

  // A place that waits begins and ends on one track.
  void take_wait(const trace_event& event, bool begins, std::int64_t at) {
    if (event.text("cat") == "user") return take_range(event, begins, at);
    if (event.text("cat") != "wait") return;
    entry_summary& e = of(entries_, event.text("name"));
    const std::pair place(key_, event.id("id2.local"));
    if (begins) {
      e.waits += 1;
      open_waits_[place] = at;
    } else if (const auto open = open_waits_.find(place); open != open_waits_.end()) {
      e.waited += at - open->second;
      open_waits_.erase(open);
    }
  }

  // A range that its coroutine left in between.
  void take_range(const trace_event& event, bool begins, std::int64_t at) {
    const std::pair place(key_, event.id("id2.local"));
    if (begins) {
      open_ranges_[place] = at;
    } else if (const auto open = open_ranges_.find(place); open != open_ranges_.end()) {
      mark(ranges_, event).add(static_cast<double>(at - open->second));
      open_ranges_.erase(open);
    }
  }

  void match_flows() {
    for (const auto& [id, from] : flow_starts_) {
      const auto to = flow_ends_.find(id);
      if (to == flow_ends_.end() || to->second.track == from.track) continue;
      tracks_[to->second.track].in_flight.push_back({from.at, to->second.at});
    }
  }

  static std::vector<entry_summary> by_total(const named& list) {
    std::vector<entry_summary> sorted;
    sorted.reserve(list.size());
    for (const auto& [name, e] : list) sorted.push_back(e);
    std::sort(sorted.begin(), sorted.end(), [](const entry_summary& a, const entry_summary& b) {
      return std::tie(b.total, a.name) < std::tie(a.total, b.name);
    });
    return sorted;
  }

  // The tracks of a GPU's streams are called "GPU 0: ...".
  void add_hidden_copies() {
    struct of_gpu {
      intervals copies, kernels;
    };
    std::map<std::pair<std::int64_t, std::string>, of_gpu> gpus;
    for (const auto& [key, track] : tracks_) {
      if (track.is_pe) continue;
      of_gpu& gpu = gpus[{key.first, track.name.substr(0, track.name.find(':'))}];
      gpu.copies.insert(gpu.copies.end(), track.copies.begin(), track.copies.end());
      gpu.kernels.insert(gpu.kernels.end(), track.kernels.begin(), track.kernels.end());
    }
    for (const auto& [name, gpu] : gpus) {
      const intervals copies = merged(gpu.copies);
      summary_.copying += length(copies);
      summary_.hidden += common_length(copies, merged(gpu.kernels));
    }
  }

  std::vector<track_summary> finish_tracks() const {
    using place = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // rank, order, thread
    std::map<place, track_summary> sorted;
    for (const auto& [key, events] : tracks_) {
      sorted[{key.first, events.order, key.second}] = finish_track(key, events);
    }
    std::vector<track_summary> list;
    list.reserve(sorted.size());
    for (auto& [at, t] : sorted) list.push_back(std::move(t));
    return list;
  }

  static track_summary finish_track(const track_key& key, const track_events& events) {
    const intervals busy = merged(events.busy);
    const intervals in_flight = merged(events.in_flight);
    track_summary t;
    t.rank = key.first;
    t.name = events.name.empty() ? fmt::format("track {}", key.second) : events.name;
    t.is_pe = events.is_pe;
    t.busy = length(busy);
    const intervals idle = merged(events.idle);
    t.idle = length(idle) - common_length(busy, idle);  // a PE that waits runs what others offer
    t.in_flight = length(in_flight);
    t.overlapped = common_length(busy, in_flight);
    return t;
  }

  const std::string& file_;
  std::size_t num_ = 0;  ///< of the event, from 1
  track_key key_{};
  std::optional<std::int64_t> first_;
  std::int64_t last_ = 0;
  std::map<track_key, track_events> tracks_;
  named entries_, kernels_;
  marks ranges_, instants_, counters_;
  std::map<std::pair<track_key, std::uint64_t>, std::int64_t> open_waits_, open_ranges_;
  std::unordered_map<std::uint64_t, flow_end> flow_starts_, flow_ends_;
  trace_summary summary_;
};

trace_summary collect(std::istream& input, const std::string& name) {
  collector events(name);
  for_each_trace_event(input, name, [&events](const trace_event& e) { events.take(e); });
  return events.finish();
}

}  // namespace

void mark_summary::add(double value) {
  last = value;
  ++count;
  if (std::isnan(value)) {
    ++no_numbers;
    return;
  }
  const bool is_first = count - no_numbers == 1;
  least = is_first ? value : std::min(least, value);
  most = is_first ? value : std::max(most, value);
  total += value;
}

double trace_summary::overlap() const {
  std::int64_t in_flight = 0, overlapped = 0;
  for (const track_summary& t : tracks) {
    in_flight += t.in_flight;
    overlapped += t.overlapped;
  }
  return in_flight == 0 ? 0 : static_cast<double>(overlapped) / static_cast<double>(in_flight);
}

double trace_summary::idle_share() const {
  std::int64_t idle = 0, pes = 0;
  for (const track_summary& t : tracks) {
    if (!t.is_pe) continue;
    idle += t.idle;
    ++pes;
  }
  return pes == 0 || duration == 0 ? 0 : static_cast<double>(idle) / static_cast<double>(pes * duration);
}

trace_summary summarise_trace(const std::string& json_text, const std::string& name) {
  std::istringstream input(json_text);
  return collect(input, name);
}

trace_summary read_trace_summary(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path, ignored)) {
    throw config_error(fmt::format("the trace '{}' cannot be read: is the name right?", path));
  }
  trace_summary s = collect(file, path);
  if (s.tracks.empty()) throw config_error(fmt::format("the trace '{}' has no slices: was anything traced?", path));
  return s;
}

}  // namespace imbrex

#include "library/report.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "base/clock.h"
#include "base/settings.h"
#include "base/staging_counts.h"
#include "base/text_file.h"
#include "driver/driver.h"
#include "driver/driver_queries.h"
#include "driver/driver_watch.h"
#include "routines/dispatch.h"

namespace imbrex::sessions {

namespace {

double run_begin = 0;
double run_end = 0;
pid_t run_by = 0;  ///< a child of fork() has its parent's counts, but is no rank
std::atomic<bool> reported{false};
char output_apart[4096] = "";

/// Where the JSON goes; null: nowhere.
const char* output_path() { return output_apart[0] != '\0' ? output_apart : current_settings().output; }

/// What is written of a routine, or of all of them.
struct totals {
  routine_counts counts;
  double query_ns = 0;
  std::uint64_t least_calls = 0, most_calls = 0;  ///< over ranks
};

class report {
 public:
  explicit report(const gathered& all)
      : num_ranks_(all.num_ranks),
        summaries_(all.summaries),
        rows_(all.rows),
        num_usage_rows_(all.num_usage_rows),
        usage_(all.usage) {
    for (int i = 0; i < num_ranks_; ++i) {
      seconds_ = std::fmax(seconds_, summaries_[i].seconds);
      add_rank(summaries_[i], first_row(i));
    }
    for (totals& t : routines_) {
      if (ranks_with_[&t - routines_] < num_ranks_) t.least_calls = 0;
    }
  }

  /// `replaced`: a file was there, in whose place this one comes.
  void write_json(text_file& out, bool replaced) const {
    char modes[64];
    describe_modes(current_settings().modes, modes, sizeof modes);
    out.add("{\n \"imbrex_sessions\": 1,\n \"modes\": ");
    out.add_quoted(modes);
    out.add(",\n \"mpi\": ");
    out.add_quoted(mpi_version());
    out.add(",\n \"replaced\": %s", replaced ? "true" : "false");
    out.add(",\n \"ranks\": %d,\n \"seconds\": %.9g,\n \"delay_ns\": ", num_ranks_, seconds_);
    current_settings().has_delay ? out.add("%ld", current_settings().delay_ns) : out.add("null");
    out.add(",\n \"total\": ");
    write_totals(out, all_, nullptr);
    out.add(",\n \"routines\": [");
    const char* separator = "\n  ";
    for (int i = 0; i <= num_routines; ++i) {
      if (routines_[i].counts.empty()) continue;
      out.add("%s", separator);
      write_totals(out, routines_[i], name_of(static_cast<routine_id>(i)));
      separator = ",\n  ";
    }
    out.add("\n ],\n");
    if ((current_settings().modes & mode_kinds) != 0) write_usage(out);
    out.add(" \"per_rank\": [");
    for (int i = 0; i < num_ranks_; ++i) {
      out.add(i == 0 ? "\n  " : ",\n  ");
      write_rank(out, summaries_[i], first_row(i));
    }
    out.add("\n ]\n}\n");
  }

  void write_table(text_file& out) const {
    char modes[64];
    describe_modes(current_settings().modes, modes, sizeof modes);
    out.add("imbrex sessions: %s; %d rank%s, %.6f s, %s\n", modes, num_ranks_, num_ranks_ == 1 ? "" : "s", seconds_,
            mpi_version());
    out.add("%-28s %12s %12s %12s %14s %14s %11s %10s\n", "routine", "calls", "checks", "checks/s", "bytes sent",
            "bytes received", "queries", "lost ms");
    for (int i = 0; i <= num_routines; ++i) {
      if (!routines_[i].counts.empty()) write_line(out, name_of(static_cast<routine_id>(i)), routines_[i]);
    }
    write_line(out, "in all", all_);
    const routine_counts& c = all_.counts;
    if (c.queries > 0) {
      out.add(
          "queries: %llu by the MPI, %llu injected; answered by declaration %llu, cache %llu, as host %llu, driver "
          "%llu\n",
          u(c.queries - c.injected), u(c.injected), u(c.declared), u(c.cached), u(c.host), u(c.queries - c.elided()));
    }
    for (int i = 0; i < num_ranks_; ++i) {
      const rank_summary& s = summaries_[i];
      if ((current_settings().modes & mode_elide) == 0 || s.watch_complete) continue;
      out.add("rank %d: host memory is asked of the driver, since not every allocation was seen: %s\n", s.rank,
              s.incomplete_because);
      break;
    }
  }

 private:
  static unsigned long long u(std::uint64_t value) { return value; }

  const routine_row* first_row(int index) const {
    const routine_row* row = rows_;
    for (int i = 0; i < index; ++i) row += summaries_[i].num_rows;
    return row;
  }

  void add_rank(const rank_summary& summary, const routine_row* rows) {
    for (int i = 0; i < summary.num_rows; ++i) {
      const routine_row& row = rows[i];
      if (row.routine > num_routines) continue;
      totals& t = routines_[row.routine];
      const double ns = static_cast<double>(row.counts.ticks) * summary.ns_per_tick;
      t.counts.add(row.counts);
      t.query_ns += ns;
      t.least_calls = ranks_with_[row.routine]++ == 0 ? row.counts.calls : std::min(t.least_calls, row.counts.calls);
      t.most_calls = std::max(t.most_calls, row.counts.calls);
      all_.counts.add(row.counts);
      all_.query_ns += ns;
    }
  }

  double per_second(std::uint64_t count) const { return seconds_ > 0 ? static_cast<double>(count) / seconds_ : 0; }

  void write_counts(text_file& out, const routine_counts& c, double query_ns) const {
    out.add(
        "\"calls\": %llu, \"checks\": %llu, \"checks_per_s\": %.6g, \"bytes_sent\": %llu, \"bytes_received\": %llu, "
        "\"queries\": %llu, \"injected\": %llu, \"declared\": %llu, \"cached\": %llu, \"host\": %llu, "
        "\"driver\": %llu, \"query_ns\": %.6g",
        u(c.calls), u(c.checks), per_second(c.checks), u(c.bytes_sent), u(c.bytes_received), u(c.queries),
        u(c.injected), u(c.declared), u(c.cached), u(c.host), u(c.queries - c.elided()), query_ns);
  }

  void write_totals(text_file& out, const totals& t, const char* name) const {
    out.add("{");
    if (name != nullptr) {
      out.add("\"name\": ");
      out.add_quoted(name);
      out.add(", \"calls_min\": %llu, \"calls_max\": %llu, ", u(t.least_calls), u(t.most_calls));
    }
    write_counts(out, t.counts, t.query_ns);
    out.add("}");
  }

  void write_usage(text_file& out) const {
    const query_cost& cost = summaries_[0].in_loop;
    out.add(" \"query_in_loop_ns\": ");
    cost.host_ns < 0 ? out.add("null") : out.add("{\"host\": %.4g, \"device\": %.4g}", cost.host_ns, cost.device_ns);
    out.add(",\n \"buffers\": [");
    const char* separator = "\n  ";
    for (int i = 0; i < num_usage_rows_; ++i) {
      for (int cell = 0; cell < num_directions * num_memory_kinds; ++cell) {
        const auto way = static_cast<direction>(cell / num_memory_kinds);
        const auto kind = static_cast<memory_kind>(cell % num_memory_kinds);
        const usage_cell& c = usage_[i].cells[cell / num_memory_kinds][cell % num_memory_kinds];
        if (c.checks == 0) continue;
        const declaration said = declaration::unpacked(usage_[i].declared);
        out.add("%s{\"where\": ", separator);
        out.add_quoted(usage_[i].where);
        out.add(", \"declared\": ");
        said.empty() ? out.add("null") : out.add_quoted(name_of(said));
        out.add(
            ", \"direction\": \"%s\", \"memory\": \"%s\", \"checks\": %llu, \"bytes\": %llu, \"injected\": %llu, "
            "\"query_ns\": %.6g}",
            name_of(way), name_of(kind), u(c.checks), u(c.bytes), u(c.injected), c.query_ns);
        separator = ",\n  ";
      }
    }
    out.add("\n ],\n");
  }

  void write_rank(text_file& out, const rank_summary& s, const routine_row* rows) const {
    out.add("{\"rank\": %d, \"host\": ", s.rank);
    out.add_quoted(s.host);
    out.add(", \"seconds\": %.9g, \"has_driver\": %s, \"watch_complete\": %s, \"incomplete_because\": ", s.seconds,
            s.has_driver ? "true" : "false", s.watch_complete ? "true" : "false");
    out.add_quoted(s.incomplete_because);
    out.add(", \"allocations\": %llu, \"cache_bytes\": %llu, \"staged_bytes\": %llu,\n   \"routines\": [",
            u(s.allocations), u(s.cache_bytes), u(s.staged_bytes));
    for (int i = 0; i < s.num_rows; ++i) {
      out.add(i == 0 ? "\n    {\"name\": " : ",\n    {\"name\": ");
      out.add_quoted(name_of(static_cast<routine_id>(rows[i].routine)));
      out.add(", ");
      write_counts(out, rows[i].counts, static_cast<double>(rows[i].counts.ticks) * s.ns_per_tick);
      out.add("}");
    }
    out.add("\n   ]}");
  }

  void write_line(text_file& out, const char* name, const totals& t) const {
    const routine_counts& c = t.counts;
    out.add("%-28s %12llu %12llu %12.0f %14llu %14llu %11llu %10.3f\n", name, u(c.calls), u(c.checks),
            per_second(c.checks), u(c.bytes_sent), u(c.bytes_received), u(c.queries), t.query_ns * 1e-6);
  }

  int num_ranks_;
  const rank_summary* summaries_;
  const routine_row* rows_;
  int num_usage_rows_;
  const usage_row* usage_;
  double seconds_ = 0;  ///< of the slowest rank
  totals all_;
  totals routines_[num_routines + 1];
  int ranks_with_[num_routines + 1] = {};
};

bool is_file(const char* path) {
  struct stat of_path = {};
  return stat(path, &of_path) == 0 && S_ISREG(of_path.st_mode);
}

void write_or_complain(const text_file& text, const char* path) {
  if (!text.write(path)) complain("cannot write the report %s: %s", path, std::strerror(errno));
}

}  // namespace

void begin_run() {
  if (run_begin != 0) return;
  run_begin = seconds_now();
  run_by = getpid();
}

void end_run() {
  if (run_end == 0) run_end = seconds_now();
}

int collect_rows(routine_row* rows, int room) {
  auto* sums = static_cast<routine_counts*>(std::calloc(num_routines + 1, sizeof(routine_counts)));
  if (sums == nullptr) return 0;
  sum_counts(sums);
  int num_rows = 0;
  for (int i = 0; i <= num_routines && num_rows < room; ++i) {
    if (!sums[i].empty()) rows[num_rows++] = {static_cast<std::uint64_t>(i), sums[i]};
  }
  std::free(sums);
  return num_rows;
}

rank_summary summarize() {
  rank_summary s;
  s.seconds = (run_end == 0 ? seconds_now() : run_end) - run_begin;
  s.ns_per_tick = ns_per_tick();
  s.allocations = live_allocations.size();
  s.cache_bytes = live_allocations.bytes();
  s.staged_bytes = staged_bytes();
  s.in_loop = cost_in_loop();
  s.watch_complete = watch_is_complete();
  s.has_driver = driver_function(driver_cuPointerGetAttribute) != nullptr;
  std::snprintf(s.incomplete_because, sizeof s.incomplete_because, "%s", why_incomplete());
  return s;
}

void write_report(const gathered& all) {
  const settings& s = current_settings();
  const report whole(all);
  if (output_path() != nullptr) {
    text_file json;
    whole.write_json(json, is_file(output_path()));
    write_or_complain(json, output_path());
  }
  if ((s.modes & mode_count) != 0 && std::strcmp(s.table, "none") != 0) {
    text_file table;
    whole.write_table(table);
    write_or_complain(table, s.table);
  }
}

void write_report_of_this_rank() {
  const settings& s = current_settings();
  if (s.modes == 0 || run_begin == 0 || run_by != getpid() || s.output == nullptr || reported.exchange(true)) return;
  static routine_row rows[num_routines + 1];
  static usage_row usage[max_usage_rows];
  rank_summary summary = summarize();
  summary.rank = rank_by_environment();
  summary.num_rows = collect_rows(rows, num_routines + 1);
  gethostname(summary.host, sizeof summary.host - 1);
  char path[sizeof output_apart + 16];
  std::snprintf(path, sizeof path, "%s.%d", output_path(), summary.rank);
  text_file json;
  report({1, &summary, rows, collect_usage(usage), usage}).write_json(json, is_file(path));
  write_or_complain(json, path);
}

void report_apart() {
  const char* output = current_settings().output;
  if (output != nullptr)
    std::snprintf(output_apart, sizeof output_apart, "%s.spawned.%d", output, static_cast<int>(getpid()));
}

void report_is_done() { reported = true; }

}  // namespace imbrex::sessions

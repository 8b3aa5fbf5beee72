#include <fmt/format.h>
#include <imbrex/trace/trace_summary.h>

#include <CLI/App.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.h"
#include "python_program.h"

namespace {

using imbrex::entry_summary;
using imbrex::mark_summary;
using imbrex::message_totals;
using imbrex::trace_summary;
using imbrex::track_summary;
using json = nlohmann::ordered_json;

double milliseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }
double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void print_entries(const char* title, const std::vector<entry_summary>& entries) {
  if (entries.empty()) return;
  fmt::print("\n{:<40} {:>9} {:>12} {:>10} {:>10} {:>9} {:>12}\n", title, "runs", "total ms", "mean us", "max us",
             "waits", "waited ms");
  for (const entry_summary& e : entries) {
    fmt::print("{:<40} {:>9} {:>12.3f} {:>10.2f} {:>10.2f} {:>9} {:>12.3f}\n", e.name, e.runs, milliseconds(e.total),
               e.mean() / 1e3, microseconds(e.longest), e.waits, milliseconds(e.waited));
  }
}

void print_marks(const trace_summary& s) {
  if (!s.ranges.empty()) {
    fmt::print("\n{:<40} {:>9} {:>12} {:>10} {:>10}\n", "range of the program", "count", "total ms", "mean us",
               "max us");
    for (const mark_summary& m : s.ranges) {
      fmt::print("{:<40} {:>9} {:>12.3f} {:>10.2f} {:>10.2f}\n", m.name, m.count, m.total / 1e6, m.mean() / 1e3,
                 m.most / 1e3);
    }
  }
  if (!s.instants.empty()) {
    fmt::print("\n{:<40} {:>9}\n", "mark of the program", "count");
    for (const mark_summary& m : s.instants) fmt::print("{:<40} {:>9}\n", m.name, m.count);
  }
  if (!s.counters.empty()) {
    fmt::print("\n{:<40} {:>9} {:>12} {:>12} {:>12}\n", "counter of the program", "count", "least", "mean", "most");
    for (const mark_summary& m : s.counters) {
      const std::string others = m.no_numbers == 0 ? "" : fmt::format("   and {} that are no numbers", m.no_numbers);
      if (m.no_numbers == m.count) {
        fmt::print("{:<40} {:>9} {:>12} {:>12} {:>12}{}\n", m.name, m.count, "-", "-", "-", others);
      } else {
        fmt::print("{:<40} {:>9} {:>12g} {:>12g} {:>12g}{}\n", m.name, m.count, m.least, m.mean(), m.most, others);
      }
    }
  }
}

void print_tracks(const trace_summary& s) {
  fmt::print("\n{:<6} {:<24} {:>8} {:>8} {:>9} {:>14} {:>12}\n", "rank", "PE or stream", "busy %", "idle %", "rest %",
             "in flight ms", "overlap %");
  for (const track_summary& t : s.tracks) {
    fmt::print("{:<6} {:<24} {:>8.1f} {:>8.1f} {:>9.1f} {:>14.3f} {:>12.1f}\n", t.rank, t.name,
               percent(t.busy, s.duration), percent(t.idle, s.duration),
               percent(s.duration - t.busy - t.idle, s.duration), milliseconds(t.in_flight),
               percent(t.overlapped, t.in_flight));
  }
}

void print_messages(const char* where, const message_totals& m) {
  fmt::print("{:<24} {:>12} {:>16}\n", where, m.count, m.bytes);
}

void print_text(const trace_summary& s) {
  fmt::print(
      "duration {:.3f} ms; idle share of the PEs {:.1f} %; while messages were on their way to a PE, it computed "
      "{:.1f} % of the time\n",
      milliseconds(s.duration), 100 * s.idle_share(), 100 * s.overlap());
  if (s.copying > 0) {
    fmt::print("copies of GPUs took {:.3f} ms, of which {:.1f} % were hidden behind kernels\n", milliseconds(s.copying),
               percent(s.hidden, s.copying));
  }
  print_entries("entry method", s.entries);
  print_entries("kernel or copy", s.kernels);
  print_marks(s);
  print_tracks(s);
  fmt::print("\n{:<24} {:>12} {:>16}\n", "messages sent to", "count", "bytes");
  print_messages("the same PE", s.same_pe);
  print_messages("another PE of the rank", s.other_pe);
  print_messages("another rank", s.other_rank);
  fmt::print("(data that channels, puts and gets carry beside their messages are not among the bytes)\n");
  if (s.dropped > 0) fmt::print("\n{} events are missing: the recorder was full\n", s.dropped);
}

json as_json(const std::vector<entry_summary>& entries) {
  json list = json::array();
  for (const entry_summary& e : entries) {
    list.push_back({{"name", e.name},
                    {"runs", e.runs},
                    {"total_us", microseconds(e.total)},
                    {"mean_us", e.mean() / 1e3},
                    {"max_us", microseconds(e.longest)},
                    {"waits", e.waits},
                    {"waited_us", microseconds(e.waited)}});
  }
  return list;
}

json marks_as_json(const std::vector<mark_summary>& marks, double unit) {
  json list = json::array();
  for (const mark_summary& m : marks) {
    list.push_back({{"name", m.name},
                    {"count", m.count},
                    {"no_numbers", m.no_numbers},
                    {"total", m.total / unit},
                    {"least", m.least / unit},
                    {"mean", m.mean() / unit},
                    {"most", m.most / unit}});
  }
  return list;
}

json instants_as_json(const std::vector<mark_summary>& marks) {
  json list = json::array();
  for (const mark_summary& m : marks) list.push_back({{"name", m.name}, {"count", m.count}});
  return list;
}

json as_json(const message_totals& m) { return {{"count", m.count}, {"bytes", m.bytes}}; }

void print_json(const trace_summary& s) {
  json tracks = json::array();
  for (const track_summary& t : s.tracks) {
    tracks.push_back({{"rank", t.rank},
                      {"name", t.name},
                      {"kind", t.is_pe ? "pe" : "stream"},
                      {"busy_us", microseconds(t.busy)},
                      {"idle_us", microseconds(t.idle)},
                      {"in_flight_us", microseconds(t.in_flight)},
                      {"overlapped_us", microseconds(t.overlapped)}});
  }
  const json j = {
      {"duration_us", microseconds(s.duration)},
      {"idle_share", s.idle_share()},
      {"overlap", s.overlap()},
      {"gpu_copies_us", microseconds(s.copying)},
      {"gpu_copies_hidden_us", microseconds(s.hidden)},
      {"entries", as_json(s.entries)},
      {"kernels", as_json(s.kernels)},
      {"ranges_us", marks_as_json(s.ranges, 1e3)},
      {"marks", instants_as_json(s.instants)},
      {"counters", marks_as_json(s.counters, 1)},
      {"tracks", tracks},
      {"messages",
       {{"same_pe", as_json(s.same_pe)}, {"other_pe", as_json(s.other_pe)}, {"other_rank", as_json(s.other_rank)}}},
      {"dropped", s.dropped}};
  fmt::print("{}\n", j.dump(2));
}

}  // namespace

void add_trace_command(CLI::App& app, std::function<int()>& command) {
  CLI::App* trace = app.add_subcommand("trace", "what a trace made by --imbrex-trace says");
  trace->require_subcommand(1);
  CLI::App* summary = trace->add_subcommand(
      "summary", "time per entry method, idle share, overlap of communication with computation, messages");
  CLI::App* page = trace->add_subcommand("page",
                                         "the same and more as a page of HTML: where time goes, who is waited for, the "
                                         "critical path, tasks; or two traces "
                                         "side by side");
  CLI::App* draw = trace->add_subcommand(
      "draw", "a part of it as a time line (SVG): what runs on each PE and stream, and messages between them");
  CLI::App* dot = trace->add_subcommand("dot", "its tasks, and what each waited for, as a graph for Graphviz");
  for (CLI::App* drawn : {page, draw, dot}) {
    drawn->set_help_flag();  // the other program has it
    drawn->prefix_command();
    drawn->callback([drawn, &command] {
      command = [drawn] {
        std::vector<std::string> words = drawn->remaining();
        words.insert(words.begin(), drawn->get_name());
        return become_python("trace_page", words);
      };
    });
  }
  const auto file = std::make_shared<std::string>();
  const auto json_wanted = std::make_shared<bool>(false);
  summary->add_option("FILE", *file, "the trace")->required();
  summary->add_flag("--json", *json_wanted, "as one JSON object");
  summary->callback([&command, file, json_wanted] {
    command = [file, json_wanted] {
      const trace_summary s = imbrex::read_trace_summary(*file);
      *json_wanted ? print_json(s) : print_text(s);
      return 0;
    };
  });
}

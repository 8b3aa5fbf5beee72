#include "result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "sizes.h"
#include "support/output_place.h"
#include "support/statistics.h"

namespace pingpong {
namespace {

using json = nlohmann::ordered_json;

/// Bytes in nanoseconds are GB in seconds.
double rate_of(std::uint64_t bytes, const std::vector<double>& us) {
  return us.empty() ? 0 : static_cast<double>(bytes) / (apps::statistics_of(us).median * 1e3);
}

const point* find(const result& r, mode m, std::uint64_t bytes) {
  const auto found = std::ranges::find_if(r.points, [&](const point& p) { return p.by == m && p.bytes == bytes; });
  return found == r.points.end() ? nullptr : &*found;
}

/// At least as wide as its name needs.
int width_of(mode m) { return std::max(12, static_cast<int>(std::strlen(name(m))) + 2); }

std::string table(const options& o, const result& r, const std::string& title,
                  const std::function<double(const point&)>& value) {
  std::string text = fmt::format("\n{}\n{:>8}", title, "bytes");
  for (const mode m : r.run) text += fmt::format("{:>{}}", name(m), width_of(m));
  text += "\n";
  for (const std::uint64_t bytes : o.sizes) {
    text += fmt::format("{:>8}", size_text(bytes));
    for (const mode m : r.run) {
      const point* p = find(r, m, bytes);
      text += p == nullptr ? fmt::format("{:>{}}", "-", width_of(m)) : fmt::format("{:{}.3f}", value(*p), width_of(m));
    }
    text += "\n";
  }
  return text;
}

json series(const std::vector<double>& values) {
  if (values.empty()) return nullptr;
  const apps::statistics s = apps::statistics_of(values);
  return {{"min", s.min}, {"median", s.median}, {"max", s.max}, {"repeats", values}};
}

}  // namespace

double point::gb_per_second() const { return rate_of(bytes, one_way_us); }
double point::window_gb_per_second() const { return rate_of(bytes, window_us); }

std::string header_text(const options& o, const result& r) {
  const surroundings& w = r.where;
  std::string text = "pingpong  ";
  text += w.players_share_pe        ? "both players on one PE"
          : w.players_share_process ? "two PEs of one process"
                                    : fmt::format("two of {} ranks, transport {}", w.ranks, w.transport);
  if (!r.gpus.empty())
    text += w.players_share_gpu ? fmt::format(", one GPU ({})", r.gpus[0])
                                : fmt::format(", GPUs {}", fmt::join(r.gpus, " and "));
  text += fmt::format("; {} repeats of about {:g} ms in turns\n", o.repeats, o.time_ms);
  for (const std::string& library : r.libraries) text += fmt::format("  {}\n", library);
  for (const auto& [m, why] : r.not_run) text += fmt::format("  not measured: {}: {}\n", name(m), why);
  return text;
}

std::string tables_text(const options& o, const result& r) {
  if (r.run.empty()) return "";
  std::string text = table(o, r, fmt::format("one way in us, ping-pong, median of up to {}", o.repeats),
                           [](const point& p) { return apps::statistics_of(p.one_way_us).median; });
  text += table(o, r, "GB/s, ping-pong", &point::gb_per_second);
  if (o.window > 0)
    text += table(o, r, fmt::format("GB/s one way, {} messages outstanding", o.window), &point::window_gb_per_second);
  if (!r.messages_per_second.empty())
    text += fmt::format("\n{:.3e} small entry-method messages per second one way; {:.3e} with aggregation\n",
                        apps::statistics_of(r.messages_per_second).median,
                        apps::statistics_of(r.messages_together_per_second).median);
  return text;
}

std::string report_json(const options& o, const result& r) {
  const surroundings& w = r.where;
  json j;
  j["app"] = "pingpong";
  j["command"] = o.command;
  j["machine"] = {{"host", r.host}, {"cores", r.cores}, {"gpus", r.gpus}, {"libraries", r.libraries}};
  j["ranks"] = w.ranks;
  j["pes"] = w.pes_per_rank;
  j["transport"] = w.transport;
  j["one_process"] = w.players_share_process;
  j["mpi_takes_gpu_memory"] = w.mpi_takes_gpu_memory;
  j["repeats"] = o.repeats;
  j["time_ms"] = o.time_ms;
  j["chain"] = o.chain;
  j["window"] = o.window;
  j["modes"] = json::array();
  for (const mode m : r.run) j["modes"].push_back(name(m));
  j["not_measured"] = json::object();
  for (const auto& [m, why] : r.not_run) j["not_measured"][name(m)] = why;
  j["points"] = json::array();
  for (const point& p : r.points) {
    j["points"].push_back({{"mode", name(p.by)},
                           {"bytes", p.bytes},
                           {"trips", p.trips},
                           {"one_way_us", series(p.one_way_us)},
                           {"gb_per_second", p.gb_per_second()},
                           {"windows", p.rounds},
                           {"window_message_us", series(p.window_us)},
                           {"window_gb_per_second", p.window_gb_per_second()}});
  }
  j["messages_per_second"] = series(r.messages_per_second);
  j["messages_together_per_second"] = series(r.messages_together_per_second);
  j["verified"] = r.wrong.empty();
  j["wrong"] = r.wrong;
  return j.dump(2) + "\n";
}

void check_report_writable(const options& o) { apps::check_output(o.report); }

void write_report(const options& o, const result& r) {
  if (!o.report.empty()) apps::write_output(o.report, report_json(o, r));
}

}  // namespace pingpong

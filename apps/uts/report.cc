#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "imbrex/base/error.h"
#include "result.h"
#include "support/statistics.h"
#include "tree/named_trees.h"

/// The JSON report of a run.
namespace uts {
namespace {

using json = nlohmann::ordered_json;

json series(const std::vector<double>& values) {
  if (values.empty()) return nullptr;
  const apps::statistics s = apps::statistics_of(values);
  return {{"min", s.min}, {"median", s.median}, {"max", s.max}, {"repeats", values}};
}

json machine() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return {{"host", host}, {"cores", std::thread::hardware_concurrency()}};
}

json shares(const result& r, std::int64_t (*value)(const pe_share&)) {
  if (r.shares.empty()) return nullptr;
  std::vector<double> values;
  values.reserve(r.shares.size());
  for (const pe_share& s : r.shares) values.push_back(static_cast<double>(value(s)));
  const apps::statistics s = apps::statistics_of(values);
  json j{{"min", s.min}, {"mean", s.mean}, {"max", s.max}};
  for (const pe_share& share : r.shares) j["pes"].push_back(value(share));
  return j;
}

std::string part_of(const std::string& path) { return path + ".part"; }

std::ofstream open_part(const options& o) {
  std::ofstream out(part_of(o.report), std::ios::binary | std::ios::trunc);
  if (!out) {
    throw imbrex::usage_error(
        fmt::format("--report {} cannot be written: {}: give another path", o.report, std::strerror(errno)));
  }
  return out;
}

}  // namespace

std::string report_json(const options& o, const result& r) {
  const named_tree* const known = known_tree(o.tree);
  const bool chares = o.impl == implementation::chares;
  json j;
  j["app"] = "uts";
  j["command"] = o.command;
  j["machine"] = machine();
  j["tree"] = {{"name", known != nullptr ? json(known->name) : json(nullptr)},
               {"kind", kind_text(o.tree)},
               {"options", options_text(o.tree)}};
  j["impl"] = name(o.impl);
  j["ranks"] = r.ranks;
  j["pes"] = r.pes;
  j["transport"] = r.transport;
  j["grain"] = chares ? json(o.grain) : json(nullptr);
  j["split"] = chares ? json(o.split) : json(nullptr);
  j["order"] = chares ? json(order_name(o)) : json(nullptr);
  j["repeats"] = o.repeats;
  j["nodes"] = r.counts.nodes;
  j["leaves"] = r.counts.leaves;
  j["depth"] = r.counts.depth;
  j["seconds"] = series(r.seconds);
  j["nodes_per_second"] = r.nodes_per_second();
  j["chares"] = chares ? json(r.chares()) : json(nullptr);
  j["nodes_of_pe"] = shares(r, [](const pe_share& s) { return s.counts.nodes; });
  j["chares_of_pe"] = shares(r, [](const pe_share& s) { return s.chares; });
  j["serial_seconds"] = series(r.serial_seconds);
  j["speedup"] = r.serial_seconds.empty() ? json(nullptr) : json(r.speedup());
  j["efficiency"] = r.serial_seconds.empty() ? json(nullptr) : json(r.efficiency());
  j["verified"] = o.verify && r.wrong.empty();
  j["wrong"] = r.wrong;
  return j.dump(2) + "\n";
}

void check_report_writable(const options& o) {
  if (o.report.empty()) return;
  open_part(o).close();
  std::remove(part_of(o.report).c_str());
}

void write_report(const options& o, const result& r) {
  if (o.report.empty()) return;
  std::ofstream out = open_part(o);
  out << report_json(o, r);
  out.close();
  if (!out || std::rename(part_of(o.report).c_str(), o.report.c_str()) != 0)
    throw imbrex::error(fmt::format("{} could not be written: {}", o.report, std::strerror(errno)));
}

}  // namespace uts

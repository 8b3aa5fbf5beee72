#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "result.h"
#include "support/output_place.h"
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

void check_report_writable(const options& o) { apps::check_output(o.report); }

void write_report(const options& o, const result& r) {
  if (!o.report.empty()) apps::write_output(o.report, report_json(o, r));
}

}  // namespace uts

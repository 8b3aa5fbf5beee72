#include "output/report.h"

#include <nlohmann/json.hpp>

#include "support/output_place.h"

namespace md {
namespace {

using json = nlohmann::ordered_json;

constexpr int report_version = 1;

/// Names every member, so that one that is added to `problem` does not compile until it stands here.
json problem_json(const problem& p) {
  const auto& [units, force, epsilon, sigma, cells, density, imbalance, lattice_constant, temperature, mass, steps, dt,
               cutoff, skin, reneighbour_every, thermo_every, data_file, eam_file, single] = p;
  return {{"units", units == unit_system::lj ? "lj" : "metal"},
          {"force", force == force_style::lj ? "lj" : "eam"},
          {"epsilon", epsilon},
          {"sigma", sigma},
          {"cells", cells},
          {"density", density},
          {"imbalance", imbalance},
          {"lattice_constant", lattice_constant},
          {"temperature", temperature},
          {"mass", mass},
          {"steps", steps},
          {"dt", dt},
          {"cutoff", cutoff},
          {"skin", skin},
          {"reneighbour_every", reneighbour_every},
          {"thermo_every", thermo_every},
          {"data_file", data_file},
          {"eam_file", eam_file},
          {"precision", single ? "single" : "double"}};
}

json thermo_json(const run_facts& f) {
  json rows = json::array();
  for (const thermo_row& row : f.thermo)
    rows.push_back({{"step", row.step},
                    {"temperature", row.temperature},
                    {"energy", row.energy},
                    {"total_energy", total_energy(f, row)},
                    {"pressure", row.pressure},
                    {"seconds", row.seconds}});
  return rows;
}

json seconds_json(const phase_times& t) {
  return {{"total", t.total},
          {"force", t.force},
          {"neighbour", t.neighbour},
          {"communication", t.communication},
          {"other", t.other}};
}

void add_execution(json& j, const run_facts& f) {
  j["decomposition"] = f.decomposition;
  j["chares"] = f.num_chares;
  j["ranks"] = f.num_ranks;
  j["pes_per_rank"] = f.pes_per_rank;
  j["gpus"] = f.num_gpus;
  if (f.num_gpus > 0) j["comm"] = f.gpu_halos;
  if (!f.gpu_streams.empty()) j["streams"] = f.gpu_streams;
  j["odf"] = odf(f);
  j["lists"] = f.lists == list_style::half ? "half" : "full";
  j["ghost_newton"] = f.ghost_newton;
  j["deterministic"] = f.deterministic;
  j["device"] = f.device;
  j["exchange"] = f.exchange;
  j["instruction_set"] = f.instruction_set;
}

}  // namespace

std::string report_json(const run_facts& f) {
  json j;
  j["app"] = "minimd";
  j["version"] = report_version;
  j["implementation"] = f.implementation;
  j["memory_bytes"] = f.memory_bytes;
  j["problem"] = problem_json(f.what);
  j["atoms"] = f.num_atoms;
  j["box"] = f.box;
  add_execution(j, f);
  j["thermo"] = thermo_json(f);
  j["seconds"] = seconds_json(f.seconds);
  j["atom_steps_per_second"] = atom_steps_per_second(f);
  if (!f.balance.strategy.empty())
    j["balance"] = {{"strategy", f.balance.strategy},
                    {"looks", f.balance.looks},
                    {"moves", f.balance.moves},
                    {"first_efficiency", f.balance.first_efficiency},
                    {"mean_efficiency", f.balance.mean_efficiency}};
  j["command"] = f.command;
  return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

void check_report_writable(const std::string& path) { apps::check_output(path); }

void write_report(const std::string& path, const run_facts& f) { apps::write_output(path, report_json(f)); }

}  // namespace md

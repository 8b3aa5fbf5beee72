#include "imbrex/runtime/virtual_time/machine_report.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "imbrex/base/error.h"

namespace imbrex::detail {

namespace {
[[noreturn]] void cannot_write(const std::string& file) {
  throw config_error(fmt::format("--imbrex-machine-report={}: it cannot be written", file));
}
}  // namespace

void check_machine_report(const std::string& file) {
  if (!file.empty() && !std::ofstream(file, std::ios::app)) cannot_write(file);
}

void write_machine_report(virtual_job& job, double took) {
  const std::string& file = job.options.virtual_time.report;
  if (file.empty()) return;
  constexpr double second = 1e-9;
  nlohmann::json pes;
  constexpr std::array names{"dispatch", "launch", "message", "notice", "own", "idle"};
  static_assert(names.size() == num_pe_costs);
  for (std::size_t i = 0; i < names.size(); ++i)
    pes[names[i]] = static_cast<double>(job.time.total(static_cast<pe_cost>(i))) * second;
  const std::vector<std::int64_t> busy = job.gpus.busy_ns();
  double sum = 0, most = 0;
  for (const std::int64_t ns : busy) {
    sum += static_cast<double>(ns) * second;
    most = std::max(most, static_cast<double>(ns) * second);
  }
  const nlohmann::json all{
      {"machine", job.m.name},
      {"ranks", job.shape.num_ranks},
      {"nodes", job.shape.num_nodes()},
      {"pes", job.shape.num_ranks * job.options.pes},
      {"seed", job.options.virtual_time.seed},
      {"virtual_seconds", static_cast<double>(job.time.ended_at()) * second},
      {"pe_seconds", pes},
      {"gpus", busy.size()},
      {"gpu_busy_seconds", sum},
      {"busiest_gpu_seconds", most},
      {"messages", job.network.num_messages()},
      {"bytes", job.network.num_bytes()},
      {"events", job.time.num_events()},
      {"took_seconds", took},
  };
  std::ofstream out(file);
  out << all.dump(2) << '\n';
  out.close();
  if (!out) cannot_write(file);
}

}  // namespace imbrex::detail

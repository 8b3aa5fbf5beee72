#include "system/memory_check.h"

#include <fmt/format.h>

#include <limits>
#include <numbers>

#include "imbrex/base/error.h"
#include "support/node_memory.h"

namespace md {
namespace {

void check(double needed, std::uint64_t available, const char* whose) {
  if (needed <= static_cast<double>(available)) return;
  constexpr double mib = 1 << 20;
  throw imbrex::out_of_memory(
      fmt::format("not enough memory {}: the run needs at least {:.0f} MiB and {:.0f} MiB are available: use fewer "
                  "cells (-s), a higher --density, or more nodes",
                  whose, needed / mib, static_cast<double>(available) / mib));
}

/// Half the reach wide.
double num_bins(const model& m) {
  const double reach = m.boxes.reach();
  return m.scale.volume / (reach * reach * reach / 8);
}

}  // namespace

double least_bytes(const model& m) {
  constexpr double of_atom = 3 * sizeof(vector4) + sizeof(std::int64_t)        // position, velocity, force; number
                             + 3 * sizeof(double) + 2 * sizeof(std::int32_t);  // in its bin
  constexpr double of_pair = sizeof(std::int32_t), of_bin = sizeof(std::int32_t);
  const double reach = m.boxes.reach(), atoms = static_cast<double>(m.scale.num_atoms);
  const double within_reach = 4.0 / 3 * std::numbers::pi * reach * reach * reach * atoms / m.scale.volume;
  const double in_list = m.lists.style == list_style::full ? within_reach : within_reach / 2;
  return atoms * (of_atom + in_list * of_pair) + num_bins(m) * of_bin;
}

void check_memory(const model& m, int num_processes, int here) {
  const double share = least_bytes(m) / num_processes;
  check(share * here, apps::available_memory(), "on a node");
  if (num_bins(m) / static_cast<double>(m.boxes.num_boxes()) > std::numeric_limits<std::int32_t>::max()) {
    throw imbrex::usage_error(
        fmt::format("a box of {:.3e} in volume is too sparse: use a higher --density, or more chares",
                    m.scale.volume / static_cast<double>(m.boxes.num_boxes())));
  }
  check(share, apps::room_of_process(), "for this process (ulimit -v)");
}

}  // namespace md

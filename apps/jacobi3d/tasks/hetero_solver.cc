// The main chare of Jacobi3D with objects and tasks, on the host, on GPUs and on devices of OpenCL.
#include <algorithm>

#include "chares/chare_driver.h"
#include "memory_check.h"
#include "tasks/hetero_block.h"

namespace jacobi {
namespace {

/// What the host has to hold: the blocks, where nothing else does, and the reference. Devices may be smaller than their
/// blocks: what does not fit is evicted.
void check_host_memory(const ix::runtime& rt, const options& o, const decomposition& cut) {
  const auto ranks = static_cast<std::uint64_t>(rt.num_ranks());
  const std::uint64_t all =
      static_cast<std::uint64_t>(cut.num_blocks()) * hetero_field::bytes_needed(cut.cells({0, 0, 0}).size);
  std::uint64_t needed = all / ranks * static_cast<std::uint64_t>(rt.num_local_ranks());
  if (o.verify) needed += serial_reference::bytes_needed(o.grid);
  check_memory(needed);
}

void add_devices(const ix::runtime& rt, result& r) {
  r.device = ix::to_string(rt.kind_of_device());
  if (rt.kind_of_device() == ix::device_kind::host) return;
  r.gpus = rt.num_gpus();
  r.gpu_strategy = "objects and tasks";
}

}  // namespace

ix::task<int> start_with_tasks(ix::runtime& rt) {
  const options& o = *this_job.given;
  const decomposition cut = decomposition::of_least_surface(o.grid, chare_count(o, rt.num_pes()));
  result r = facts_of(rt, o, cut);
  add_devices(rt, r);
  check_report_writable(o);
  check_host_memory(rt, o, cut);
  guarded_outputs outputs(o, cut);
  if (!o.quiet) fmt::print("{}", header_text(o, r));
  std::fflush(stdout);

  const auto blocks = create_blocks<hetero_block>(rt, o, cut);
  auto repeats = run_repeats(blocks, &o, &r, nullptr);
  co_await repeats;
  auto concluded = conclude(blocks, &o, &cut, &r, &outputs);
  co_return co_await concluded;
}

}  // namespace jacobi

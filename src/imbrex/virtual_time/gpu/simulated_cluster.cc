#include "imbrex/virtual_time/gpu/simulated_cluster.h"

#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/virtual_time/gpu/simulated_point.h"

namespace imbrex {

namespace {
constexpr std::size_t slab_bytes = std::size_t{64} << 20;
constexpr std::size_t pinned_slab_bytes = std::size_t{4} << 20;
constexpr std::size_t kernels_at_once = 128;
}  // namespace

simulated_gpu::simulated_gpu(const machine& m, simulation& all, ghost_memory& memory, int node, int number)
    : m_(m), memory_(memory), node_(node), number_(number), engine_(all, kernels_at_once), pool_(*this, slab_bytes) {}

std::uint64_t simulated_gpu::free_bytes() {
  const auto total = static_cast<std::uint64_t>(m_.gpu.memory_gb * 1e9);
  return total > held_ ? total - held_ : 0;
}

void* simulated_gpu::get(std::size_t bytes) {
  if (bytes > free_bytes()) return nullptr;
  void* const memory = memory_.get(bytes, {memory_kind::device, node_, number_});
  if (memory != nullptr) held_ += bytes;
  return memory;
}

void simulated_gpu::give(void* memory, std::size_t bytes) {
  memory_.give(memory, bytes);
  held_ -= bytes;
}

std::string simulated_gpu::name() { return fmt::format("GPU {} of node {} ({})", number_, node_, m_.gpu.name); }

simulated_pinned_memory::simulated_pinned_memory(ghost_memory& memory, int node)
    : memory_(memory), node_(node), pool_(*this, pinned_slab_bytes) {}

std::string simulated_pinned_memory::name() { return fmt::format("pinned memory of node {}", node_); }

simulated_gpu& simulated_cluster::gpu(int node, int number) {
  const std::uint64_t which = (static_cast<std::uint64_t>(node) << 32) | static_cast<std::uint64_t>(number);
  std::unique_ptr<simulated_gpu>& one = gpus_[which];
  if (one == nullptr) one = std::make_unique<simulated_gpu>(m_, all_, memory_, node, number);
  return *one;
}

std::vector<std::int64_t> simulated_cluster::busy_ns() {
  std::vector<std::int64_t> all;
  all.reserve(gpus_.size());
  for (const auto& [which, g] : gpus_) all.push_back(g->engine().busy_ns());
  return all;
}

std::int64_t simulated_cluster::copied_at(const simulated_gpu& of, const void* to, const void* from,
                                          std::size_t bytes) {
  const ghost_memory::owner there = memory_.of(to), here = memory_.of(from);
  const bool to_gpu = there.kind == memory_kind::device, from_gpu = here.kind == memory_kind::device;
  const std::int64_t start = ns_of_us(m_.gpu.copy_start_us);
  if (to_gpu && from_gpu) return start + lines_.copy_to_peer(of.node(), here.gpu, there.gpu, bytes).arrived;
  if (to_gpu || from_gpu) return start + lines_.copy_with_host(of.node(), to_gpu ? there.gpu : here.gpu, to_gpu, bytes);
  return all_.now() + start + ns_of(bytes, m_.node.shared_gbs);
}

std::uint64_t simulated_cluster::share(std::shared_ptr<simulated_point> p) {
  shared_.emplace(++last_shared_, std::move(p));
  return last_shared_;
}

std::shared_ptr<simulated_point> simulated_cluster::take_shared(std::uint64_t number) {
  const auto found = shared_.find(number);
  if (found == shared_.end())
    throw device_error("a point of a simulated GPU's stream was opened twice, or never shared");
  std::shared_ptr<simulated_point> p = std::move(found->second);
  shared_.erase(found);
  return p;
}

}  // namespace imbrex

#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "imbrex/device/completion_mode.h"
#include "imbrex/device/event.h"
#include "imbrex/device/pool/slab_pool.h"
#include "imbrex/virtual_time/core/simulation.h"
#include "imbrex/virtual_time/gpu/ghost_memory.h"
#include "imbrex/virtual_time/gpu/gpu_engine.h"
#include "imbrex/virtual_time/machine/machine.h"
#include "imbrex/virtual_time/machine/network_model.h"

namespace imbrex {

struct simulated_point;
class open_capture;

/// One GPU of a simulated node: what its memory and its computing part are for all PEs that use it.
class simulated_gpu final : private memory_source {
 public:
  simulated_gpu(const machine& m, simulation& all, ghost_memory& memory, int node, int number);

  const machine& description() const { return m_; }
  int node() const { return node_; }
  int number() const { return number_; }
  gpu_engine& engine() { return engine_; }
  slab_pool& pool() { return pool_; }
  std::uint64_t free_bytes() override;

 private:
  void* get(std::size_t bytes) override;
  void give(void* memory, std::size_t bytes) override;
  std::string name() override;

  const machine& m_;
  ghost_memory& memory_;
  const int node_, number_;
  std::uint64_t held_ = 0;
  gpu_engine engine_;
  slab_pool pool_;
};

/// Host memory that the GPUs of a rank reach.
class simulated_pinned_memory final : private memory_source {
 public:
  simulated_pinned_memory(ghost_memory& memory, int node);
  slab_pool& pool() { return pool_; }

 private:
  void* get(std::size_t bytes) override { return memory_.get(bytes, {memory_kind::pinned, node_, -1}); }
  void give(void* memory, std::size_t bytes) override { memory_.give(memory, bytes); }
  std::uint64_t free_bytes() override { return std::uint64_t{1} << 40; }
  std::string name() override;

  ghost_memory& memory_;
  const int node_;
  slab_pool pool_;
};

/// All GPUs of a run in virtual time, and what those of one node share.
class simulated_cluster {
 public:
  simulated_cluster(const machine& m, simulation& all, network_model& lines, ghost_memory& memory,
                    completion_mode completion)
      : m_(m), all_(all), lines_(lines), memory_(memory), completion_(completion) {}

  const machine& description() const { return m_; }
  simulation& time() { return all_; }
  network_model& lines() { return lines_; }
  ghost_memory& memory() { return memory_; }
  completion_mode completion() const { return completion_; }
  open_capture* capture = nullptr;  ///< of the graph that is being captured now, if one is

  /// Made with its first use.
  simulated_gpu& gpu(int node, int number);
  /// For how long each of them has run a kernel.
  std::vector<std::int64_t> busy_ns();

  /// When a copy ends that begins now on a stream of this GPU: from one place to another, not within one GPU.
  std::int64_t copied_at(const simulated_gpu& of, const void* to, const void* from, std::size_t bytes);

  /// Points that another rank of the node is told of, by a number, and takes once.
  std::uint64_t share(std::shared_ptr<simulated_point> p);
  std::shared_ptr<simulated_point> take_shared(std::uint64_t number);

 private:
  const machine& m_;
  simulation& all_;
  network_model& lines_;
  ghost_memory& memory_;
  const completion_mode completion_;
  std::unordered_map<std::uint64_t, std::unique_ptr<simulated_gpu>> gpus_;
  std::unordered_map<std::uint64_t, std::shared_ptr<simulated_point>> shared_;
  std::uint64_t last_shared_ = 0;
};

}  // namespace imbrex

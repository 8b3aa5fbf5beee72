#pragma once

#include <memory>
#include <string>

#include "imbrex/async/executor.h"
#include "imbrex/device/device.h"
#include "imbrex/virtual_time/gpu/simulated_cluster.h"

namespace imbrex {

/// One PE's handle of a simulated GPU. For programs it is one of CUDA: what they launch is counted, not run (kernels of
/// the dialect are run by the host where there are bytes), and what they copy takes its time.
class simulated_device final : public device {
 public:
  simulated_device(simulated_cluster& cluster, simulated_gpu& gpu, simulated_pinned_memory& pinned, executor& pe)
      : cluster_(cluster), gpu_(gpu), pinned_(pinned), pe_(pe) {}

  device_kind kind() const override { return device_kind::cuda; }
  int number() const override { return gpu_.number(); }
  std::string name() const override { return cluster_.description().gpu.name + " (simulated)"; }
  memory_info memory() const override;
  memory_kind allocates() const override { return memory_kind::device; }
  void* allocate(std::size_t bytes, memory_kind kind) override;
  void free(void* memory, std::size_t bytes, memory_kind kind) noexcept override;
  memory_usage used(memory_kind kind) const override;
  void read_now(void* to, const void* from, std::size_t bytes, const event& e) override;
  bool any_thread_reads() const override { return true; }
  bool share(const void* memory, shared_memory& as) override;
  const std::byte* open(const shared_memory& m) override;
  event open(const shared_point& p) override;
  memory_kind adopt(const void* memory, std::size_t bytes) override;
  std::unique_ptr<stream> make_stream(stream_priority p, std::string label) override;
  bool reaches(const device& other) const override;

  simulated_cluster& cluster() { return cluster_; }
  simulated_gpu& gpu() { return gpu_; }
  executor& pe() const { return pe_; }

 private:
  slab_pool& pool_of(memory_kind k) const { return k == memory_kind::device ? gpu_.pool() : pinned_.pool(); }

  simulated_cluster& cluster_;
  simulated_gpu& gpu_;
  simulated_pinned_memory& pinned_;
  executor& pe_;
};

}  // namespace imbrex

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "imbrex/device/cuda/api/cuda_activity.h"
#include "imbrex/device/cuda/cuda_completion.h"
#include "imbrex/device/cuda/cuda_gpu.h"
#include "imbrex/device/device.h"

namespace imbrex {

/// One PE's handle of one GPU. Several PEs may drive the same GPU, each with streams of its own, and one PE several.
class cuda_device final : public device {
 public:
  /// `activity` is null unless CUPTI tells the times of a traced job.
  cuda_device(cuda_machine& machine, cuda_gpu& gpu, executor& pe, cuda_completion& completion,
              cuda_activity* activity = nullptr)
      : machine_(machine), gpu_(gpu), pe_(pe), completion_(completion), activity_(activity) {}

  device_kind kind() const override { return device_kind::cuda; }
  int number() const override { return gpu_.number(); }
  std::string name() const override { return gpu_.name(); }
  memory_info memory() const override { return gpu_.memory(); }
  memory_kind allocates() const override { return memory_kind::device; }
  void* allocate(std::size_t bytes, memory_kind kind) override;
  void free(void* memory, std::size_t bytes, memory_kind kind) noexcept override;
  bool allocates_unpooled() const override { return true; }
  void* allocate_unpooled(std::size_t bytes) override;
  void free_unpooled(void* memory) noexcept override;
  memory_usage used(memory_kind kind) const override;
  bool any_thread_reads() const override { return true; }
  void read_now(void* to, const void* from, std::size_t bytes, const event& e) override;
  std::unique_ptr<stream> make_stream(stream_priority p, std::string label) override;
  std::unique_ptr<graph> graph_of_rounds(const recorded_rounds& r, const std::vector<std::size_t>& order) override;
  bool reaches(const device& other) const override;
  bool share(const void* memory, shared_memory& as) override { return gpu_.shared().share(memory, as); }
  const std::byte* open(const shared_memory& m) override { return gpu_.shared().open(m); }
  event open(const shared_point& p) override;
  memory_kind adopt(const void* memory, std::size_t bytes) override;
  void let_go(const void* memory, std::size_t bytes) noexcept override;
  bool is_staged(const void* memory) const override { return gpu_.adopted().is_staged(memory); }

  cuda_gpu& gpu() const { return gpu_; }
  cuda_completion& completion() const { return completion_; }
  executor& pe() const { return pe_; }
  cuda_activity* activity() const { return activity_; }

 private:
  slab_pool& pool(memory_kind kind) const;
  void let_others_reach(cudaMemPool_t pool) const;

  cuda_machine& machine_;
  cuda_gpu& gpu_;
  executor& pe_;
  cuda_completion& completion_;
  cuda_activity* activity_;
};

}  // namespace imbrex

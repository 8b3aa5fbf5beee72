#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "imbrex/device/cuda/cuda_shared_memory.h"
#include "imbrex/device/cuda/cuda_time_line.h"
#include "imbrex/device/cuda/signals/cuda_gates.h"
#include "imbrex/device/cuda/signals/cuda_word.h"
#include "imbrex/device/device.h"
#include "imbrex/device/pool/adopted_memory.h"
#include "imbrex/device/pool/slab_pool.h"

namespace imbrex {

/// One GPU of this process, shared by all its PEs: its memory, and its spare events. Any thread.
class cuda_gpu {
 public:
  /// `number` counts the GPUs that CUDA shows this process, `place` those of its machine. `gates` outlives it,
  /// `adopted` is the process's. Throws `device_error`.
  cuda_gpu(int number, int place, cuda_gates& gates,
           std::shared_ptr<adopted_memory> adopted = std::make_shared<adopted_memory>());
  ~cuda_gpu();
  cuda_gpu(const cuda_gpu&) = delete;
  cuda_gpu& operator=(const cuda_gpu&) = delete;

  int number() const { return number_; }
  int place() const { return place_; }
  const std::string& name() const { return name_; }
  /// Tells it from all other GPUs, in every process.
  std::uint64_t identity() const { return identity_; }
  /// Of the processor and its memory: where a PE that drives it should run. "0000:19:00.0"
  std::string bus_id() const { return bus_id_of(number_); }
  /// The same of CUDA's GPU `number`.
  static std::string bus_id_of(int number);
  memory_info memory() const;
  /// Memory of the GPU, from large `cudaMalloc` slabs that are kept.
  slab_pool& pool() { return *pool_; }

  /// Its memory in other processes, and theirs in this one.
  cuda_shared_memory& shared() { return *shared_; }
  /// A slab of its pool, or an allocation that had been adopted, is given back: no other process may take it for what
  /// lies there next.
  void forget(const void* memory) noexcept;

  /// Of all GPUs of the process.
  cuda_gates& gates() const { return gates_; }
  adopted_memory& adopted() const { return *adopted_; }
  /// Frees what `cudaMalloc` gave: now, or when no stream waits for a function of the host.
  void free_native(void* memory) noexcept;

  /// The calling thread's CUDA calls go to this GPU from now on. Cheap when they do already.
  void make_current() const;
  /// The same where others may have chosen another one.
  void make_current_again() const;
  /// CUDA's number of this priority; a smaller one is more urgent.
  int native_priority(stream_priority p) const;

  /// An event without timing, created only when none is spare. Give it back when nobody waits for it any more.
  cudaEvent_t take_event();
  void give_back_event(cudaEvent_t e) noexcept;
  /// How many events were created in all: constant in steady state.
  std::uint64_t events_created() const { return events_created_; }

  cuda_time_line& time_line() { return time_line_; }

  /// A word for a stream; it goes on from where its last owner left it, whom somebody may still wait for.
  cuda_word take_word();
  void give_back_word(cuda_word w) noexcept;
  /// What a word of this or another GPU is now; blocks for some microseconds.
  unsigned long long read_word(const unsigned long long* word) const;

  /// Lets kernels of this GPU, and copies, reach the memory of `other` directly. False where the machine cannot.
  bool enable_access_to(cuda_gpu& other);
  /// Whether they do.
  bool reaches(const cuda_gpu& other) const;
  /// Whether all GPUs of the process reach this one.
  bool is_reached_by_all() const { return is_reached_by_all_; }

  /// \name Thread blocks that wait for other GPUs, of all PEs: at most one for every second multiprocessor, so that the
  /// others stay free for what is waited for
  ///@{
  /// As many of `wanted` as there are, at least 8 if so many are wanted; else 0.
  int take_waiting_blocks(int wanted);
  void give_back_waiting_blocks(int blocks) { waiting_blocks_left_.fetch_add(blocks, std::memory_order_relaxed); }
  ///@}

 private:
  const int number_;
  const int place_;
  cuda_gates& gates_;
  const std::shared_ptr<adopted_memory> adopted_;
  std::string name_;
  double bytes_per_second_ = 0;
  std::uint64_t identity_ = 0;
  int least_urgent_ = 0;
  int most_urgent_ = 0;
  std::atomic<int> waiting_blocks_left_{0};
  std::vector<const cuda_gpu*> reached_;
  bool is_reached_by_all_ = true;
  std::mutex freed_mutex_;
  std::vector<void*> freed_later_;
  std::unique_ptr<memory_source> source_;
  std::unique_ptr<cuda_shared_memory> shared_;  // outlives the pool, whose slabs it forgets
  std::unique_ptr<slab_pool> pool_;
  std::mutex events_mutex_;
  std::vector<cudaEvent_t> spare_events_;
  std::uint64_t events_created_ = 0;
  cuda_time_line time_line_;
  std::mutex words_mutex_;
  std::vector<cuda_word> spare_words_;
};

/// The GPUs a process uses, and pinned host memory that all of them reach.
class cuda_machine {
 public:
  /// GPUs by CUDA's numbers, with access to each other's memory where the machine can. Throws `device_error`.
  explicit cuda_machine(const std::vector<int>& numbers);
  ~cuda_machine();

  int num_gpus() const { return static_cast<int>(gpus_.size()); }
  cuda_gpu& gpu(int i) { return *gpus_[static_cast<std::size_t>(i)]; }
  slab_pool& pinned() { return *pinned_; }
  /// What others have allocated and this process's devices were told of.
  adopted_memory& adopted() { return *adopted_; }
  /// Whether the GPU at place i reaches the memory of that at place j without the host.
  bool peers(int i, int j) const { return i == j || peers_[static_cast<std::size_t>(i * num_gpus() + j)]; }

  /// How many GPUs there are, and, when there are none, why.
  static int count(std::string* why_none = nullptr);

 private:
  cuda_gates gates_;
  const std::shared_ptr<adopted_memory> adopted_ = std::make_shared<adopted_memory>();
  std::vector<std::unique_ptr<cuda_gpu>> gpus_;
  std::vector<bool> peers_;
  std::unique_ptr<memory_source> pinned_source_;
  std::unique_ptr<slab_pool> pinned_;
};

}  // namespace imbrex

#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "imbrex/device/cuda/cuda_completion.h"
#include "imbrex/device/cuda/cuda_device.h"
#include "imbrex/device/cuda/cuda_event.h"
#include "imbrex/device/cuda/cuda_trace.h"
#include "imbrex/device/cuda/signals/cuda_mark.h"
#include "imbrex/device/cuda/signals/cuda_pull.h"
#include "imbrex/device/graph.h"
#include "imbrex/device/passed_points.h"
#include "imbrex/device/rounds/recorded_rounds.h"

namespace imbrex {

namespace detail {
struct kernel_values;
}

/// A stream of a GPU. Copies, kernels and waits are enqueued in the driver at once; functions for the host (`then`)
/// wait here until the completion mechanism has seen all that stands before them.
class cuda_stream final : public stream {
 public:
  cuda_stream(cuda_device& d, cuda_gpu& gpu, stream_priority p, std::string label);
  ~cuda_stream() override;

  device& on() const override;
  stream_priority urgency() const override { return priority_; }
  void copy(void* to, const void* from, std::size_t bytes) override;
  void transfer(void* to, const void* from, std::size_t bytes) override;
  void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t bytes,
                 std::size_t num_rows) override;
  void fill(void* to, unsigned char value, std::size_t bytes) override;
  event record() override;
  event record_for_others() override;
  bool record_shared(shared_point& p) override;
  void wait(const event& e) override;
  void pull(const event& ready, void* to, const void* from, std::size_t bytes) override;
  bool idle() const override;
  void leave() override;
  void arrive(device& here) override;
  std::unique_ptr<graph> capture(const std::function<void()>& enqueue) override;
  bool recapture(graph& g, const std::function<void()>& enqueue) override;
  void run(graph& g) override;
  bool can_record() const override { return true; }
  std::uint64_t num_functions() const override { return num_functions_; }
  void record_rounds(const std::shared_ptr<recorded_rounds>& into) override;
  void end_round() override;
  void stop_recording() override;

  cudaStream_t native() const { return native_; }
  cuda_gpu& gpu() const { return *gpu_; }

  /// \name For `launch` and the completion mechanisms
  ///@{
  /// One more operation, of this name, is put into the stream, and has been.
  void note(const char* name, trace_category what = trace_category::runtime);
  void noted();
  /// For a kernel that has just been noted and shall tell of its end itself; and it has been launched.
  kernel_mark mark();
  void marked();
  /// While rounds are recorded.
  bool is_recording() const { return kept_ != nullptr; }
  void keep_kernel(const char* name, const void* function, const launch_shape& shape,
                   const detail::kernel_values& arguments, std::size_t batch_bytes);
  [[noreturn]] void refuse_in_rounds(const char* what) const;
  /// Throws `device_error` unless `status` is success: for what was tried, or, when the GPU has failed earlier, naming
  /// what may have done that.
  void check(cudaError_t status, const char* what) const;
  /// Runs the functions that stand before the operations not yet finished.
  void run_reached();
  bool has_functions() const { return first_ != nullptr; }
  void became_idle() {
    if (trace_ != nullptr) trace_->lose_anchor();
  }
  /// Lets the stream pass all functions for the host, done or not.
  void open_gates() noexcept { gate_->store(cuda_pull::beyond_all, std::memory_order_release); }
  /// "'pack' in the compute stream of block(1)": what it waits for that this PE has not run; empty: nothing.
  std::string closed_gate() const;
  /// "kernel 'update'" for those not known to have finished, oldest first.
  std::string unfinished() const;
  cuda_progress progress;
  bool is_busy = false;
  ///@}

 protected:
  void enqueue(stream_operation* op) override;

 private:
  friend class cuda_completion;

  static std::uint64_t new_number();
  void begin();
  void end() noexcept;
  bool knows_point() const;
  stream_position position() const { return {number_, progress.enqueued}; }
  event record(cuda_word_point word);
  /// The word will have this value when all that is enqueued now has finished.
  cuda_word_point count();
  unsigned* counter();
  const cuda_event* of_cuda(const event& e) const;
  bool kernel_may_wait_for(const cuda_event& e) const;
  void launch_pull(cuda_pull p, const cuda_event* ready);
  void launch_captured(const cuda_pull& p);
  bool copy_would_block(const void* to, const void* from) const;
  void copy_beside_gates(void* to, const void* from, std::size_t bytes);
  cudaGraph_t capture_native(const std::function<void()>& enqueue);
  bool capturing() const;
  void keep_copy(void* to, const void* from, std::size_t bytes);
  void keep_fill(void* to, unsigned char value, std::size_t bytes);
  void keep_wait(const event& e);
  event kept_point();
  void refuse_beside_rounds(const char* name) const;

  cuda_device* device_;
  cuda_gpu* gpu_;
  cuda_completion* completion_;
  const stream_priority priority_;
  cudaStream_t native_ = nullptr;
  passed_points passed_;
  std::uint64_t number_ = 0;                    // another one wherever it begins to count its operations
  std::atomic<std::uint64_t>* gate_ = nullptr;  // the stream waits for it where a function of the host must run
  std::uint64_t gates_ = 0;                     // how often it does
  std::uint64_t gates_opened_ = 0;
  stream_operation* first_ = nullptr;
  stream_operation* last_ = nullptr;
  // The names of the last operations, by number: what is to blame when the GPU fails.
  static constexpr std::size_t remembered = 64;
  std::array<const char*, remembered> names_{};
  unsigned* num_arrived_ = nullptr;         // of a marked kernel's thread blocks; from the GPU's pool
  cuda_word word_;                          // once somebody far away has asked how far this stream is
  std::uint64_t word_at_ = UINT64_MAX;      // the operation after which it has its last value
  std::shared_ptr<cuda_event> last_point_;  // valid while nothing was enqueued after it, outside of captures
  std::uint64_t last_point_at_ = 0;
  trace_track* track_ = nullptr;       // null unless the job is traced
  std::unique_ptr<cuda_trace> trace_;  // with a track, where CUPTI does not tell the times
  bool tracing_ = false;               // the operation that is being put in
  bool measuring_ = false;             // the same
  stream_rounds* kept_ = nullptr;      // while it records
  std::uint64_t kept_number_ = 0, num_functions_ = 0;
  std::shared_ptr<recorded_rounds> rounds_;
};

}  // namespace imbrex

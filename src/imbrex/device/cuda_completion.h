#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "imbrex/async/executor.h"
#include "imbrex/async/progress_source.h"
#include "imbrex/device/completion_mode.h"
#include "imbrex/device/cuda_gpu.h"

namespace imbrex {

class cuda_stream;

/// What a stream keeps so that the host can tell how far it has come: operations are numbered from 1.
struct cuda_progress {
  std::uint64_t enqueued = 0;   ///< the last operation's number
  std::uint64_t marked = 0;     ///< the last one whose end will be noticed
  std::uint64_t completed = 0;  ///< the last one known to have finished

  /// `flag`: written by the GPU. `callback`: written by the driver's thread. Null in the other modes.
  std::atomic<std::uint64_t>* flag = nullptr;
  struct point {
    std::uint64_t number;
    cudaEvent_t event;
  };
  std::deque<point> points;          ///< `event`: oldest first
  std::uint64_t waiting_kernel = 0;  ///< the last one that waits for another stream, as far as is known; 0: none
};

/// How one PE learns what its streams have finished, in one of four ways (Choi et al. 2020, III-B). Knows all streams
/// of the PE that have work under way and looks at each of them: a slow one never hides the others.
class cuda_completion final : public progress_source {
 public:
  /// `kernels_wait`: a kernel may wait for another GPU's stream (with mode `flag`).
  cuda_completion(executor& pe, completion_mode mode, slab_pool& pinned, bool kernels_wait = true);
  ~cuda_completion() override;

  completion_mode mode() const { return mode_; }

  /// A new stream, and its end.
  void attach(cuda_stream& s);
  void detach(cuda_stream& s) noexcept;
  /// The stream has work under way, from now until all its operations are known to have finished.
  void busy(cuda_stream& s);
  /// Makes sure that the end of all that is enqueued will be noticed.
  void mark(cuda_stream& s);
  /// Whether one more stream may have a kernel that waits, and that it has from now on. They are few: each holds a part
  /// of the GPU while it waits.
  bool kernel_may_wait(const cuda_stream& s) const;
  void kernel_waits(cuda_stream& s);
  /// Looks how far the stream has come.
  void refresh(cuda_stream& s);

  /// What has been enqueued on this PE and is not known to have finished: among it is what made the GPU fail.
  std::string unfinished() const;

  void poll() override;
  bool pending() const override { return !busy_.empty() && mode_ != completion_mode::callback; }
  void settle() override;
  void drain() noexcept override;

 private:
  struct callback_note;

  std::atomic<std::uint64_t>* take_flag();
  void record_event(cuda_stream& s);
  void add_callback(cuda_stream& s);
  void wait_for(cuda_stream& s) noexcept;
  void waits_no_more(cuda_stream& s) noexcept;
  void look_for_failures();

  executor& pe_;
  const completion_mode mode_;
  const bool kernels_wait_;
  int num_waiting_ = 0;  // streams with such a kernel
  slab_pool& pinned_;
  std::vector<cuda_stream*> busy_;
  std::vector<std::atomic<std::uint64_t>*> spare_flags_;
  std::vector<void*> flag_pages_;
  std::int64_t last_progress_ = 0;
  unsigned fruitless_ = 0;
};

}  // namespace imbrex

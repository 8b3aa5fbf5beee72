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
#include "imbrex/device/cuda/cuda_gpu.h"
#include "imbrex/device/cuda/cuda_meter.h"

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
  int waiting_blocks = 0;            ///< of the GPU's, held as long as there is one
};

/// How one PE learns what its streams have finished, in one of four ways (Choi et al. 2020, III-B). Knows all streams
/// of the PE that have work under way and looks at each of them: a slow one never hides the others.
class cuda_completion final : public progress_source, public usage_meter {
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
  /// Thread blocks for a kernel of `s` that waits, at most `wanted`; 0: it may not. They are few, and given back when
  /// it has ended: `kernel_waits` says that it has been launched.
  int blocks_to_wait(cuda_stream& s, int wanted);
  void kernel_waits(cuda_stream& s);
  /// Where such kernels see that nobody waits any more.
  const unsigned long long* give_up() const { return reinterpret_cast<const unsigned long long*>(give_up_); }
  /// The driver waits for this word on behalf of a stream of `gpu`.
  void driver_waits(cuda_gpu& gpu, const unsigned long long* word);
  /// "'pack' in the compute stream of block(1)": a function that a stream of this PE waits for; empty: none does.
  std::string first_closed_gate() const;
  /// Looks how far the stream has come.
  void refresh(cuda_stream& s);

  /// What has been enqueued on this PE and is not known to have finished: among it is what made the GPU fail.
  std::string unfinished() const;

  void poll() override;
  bool pending() const override { return !busy_.empty() && mode_ != completion_mode::callback; }
  void ensure_noticed() override;
  void let_pass() noexcept override;
  bool drain(std::int64_t deadline_ns) noexcept override;

  cuda_meter& meter() { return meter_; }
  void measure(std::size_t most) override { meter_.measure(most); }
  std::vector<device_operation> measured() override { return meter_.measured(); }

 private:
  struct callback_note;

  std::atomic<std::uint64_t>* take_flag();
  void record_event(cuda_stream& s);
  void add_callback(cuda_stream& s);
  bool wait_for(cuda_stream& s, std::int64_t deadline_ns) noexcept;
  void finish(cuda_stream& s) noexcept;
  void fill_awaited_words() noexcept;
  void waits_no_more(cuda_stream& s) noexcept;
  void look_for_failures();

  executor& pe_;
  cuda_meter meter_;
  const completion_mode mode_;
  const bool kernels_wait_;
  std::atomic<std::uint64_t>* give_up_ = nullptr;
  struct awaited_word {
    cuda_gpu* by;
    const unsigned long long* at;
  };
  std::vector<awaited_word> awaited_words_;  // distinct; few: one for each stream that others' streams wait for
  bool passing_ = false;
  slab_pool& pinned_;
  std::vector<cuda_stream*> busy_;
  std::vector<std::atomic<std::uint64_t>*> spare_flags_;
  std::vector<void*> flag_pages_;
  std::int64_t last_progress_ = 0;
  unsigned fruitless_ = 0;
};

}  // namespace imbrex

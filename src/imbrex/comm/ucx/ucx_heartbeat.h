#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "imbrex/comm/ucx/ucx_context.h"
#include "imbrex/comm/ucx/ucx_worker.h"

namespace imbrex {

/// Notices ranks that have fallen silent: stopped, or cut off so that not even UCX hears of it. Each rank has a thread
/// and a worker for this alone, asleep nearly always, so that a rank whose PEs compute for minutes is not taken for
/// dead. Ranks that have talked send each other a beat ten times within the time after which silence is death.
///
/// A process that was itself held up for long (suspended, or starved of its cores) starts to count anew.
class ucx_heartbeat {
 public:
  /// `silence_s` is at least 1.
  ucx_heartbeat(const ucx_context& context, int num_ranks, int silence_s);
  /// Stops; what is still open is given a moment and then closed with force.
  ~ucx_heartbeat();
  ucx_heartbeat(const ucx_heartbeat&) = delete;
  ucx_heartbeat& operator=(const ucx_heartbeat&) = delete;

  std::vector<std::byte> address() const { return worker_.address(); }
  /// Starts the thread. `talked[r]`, which others set, means that rank r is to be watched; it must outlive `stop`.
  void start(ucx_addresses addresses, std::vector<std::atomic<bool>>& talked);
  /// Whether a rank has fallen silent. Any thread; one load.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  /// Throws the `comm_error` that says which.
  [[noreturn]] void throw_failure() const;
  /// From now on ranks may go: a lost connection is no failure, silence still is. Any thread.
  void expect_closing() { closing_.store(true, std::memory_order_relaxed); }
  /// Ends the thread; silence is no failure from now on.
  void stop();

  /// Once the thread has ended, for the thread that ended it: makes progress, and closes the ways to others as
  /// `ucx_worker` does. A way that is still being opened must be closed without force, and by all ranks together: UCX
  /// 1.13 ends the process when a worker goes away before its part of the opening has left.
  bool progress() noexcept { return !thread_.joinable() && worker_.progress(); }
  void begin_close(bool force) { worker_.begin_close(force); }
  bool closed() { return worker_.closed(); }

 private:
  struct watched {
    bool known = false;
    bool beating = false;  ///< the last beat has not left yet
    std::int64_t heard_ns = 0;
  };

  void run();
  void look(std::int64_t now);
  void beat(std::size_t rank);
  void fail(const std::string& why);
  static ucs_status_t heard(void* of, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                            const ucp_am_recv_param_t* how);
  static void has_left(void* request, ucs_status_t status, void* of);

  const rank_id me_;  // what a beat carries; must stay where it is
  ucx_worker worker_;
  const std::int64_t silence_ns_;
  ucx_addresses addresses_;
  std::vector<std::atomic<bool>>* talked_ = nullptr;
  std::vector<watched> ranks_;
  std::string failure_;
  std::atomic<bool> failed_{false};
  std::atomic<bool> closing_{false};

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace imbrex

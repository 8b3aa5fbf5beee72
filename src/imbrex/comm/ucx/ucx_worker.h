#pragma once

#include <ucp/api/ucp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include "imbrex/comm/ucx/ucx_context.h"

namespace imbrex {

/// Where the workers of all ranks are, in the order of their ranks: `per_rank` of each.
struct ucx_addresses {
  std::vector<std::vector<std::byte>> all;
  int per_rank = 1;
};

/// A UCX worker, which sends and receives, and its endpoints: the ways to other workers, each opened when something
/// first goes there. One thread at a time.
///
/// Errors: a failure found inside UCX's callbacks (no exception may pass through UCX) is noted, and thrown by
/// `throw_failure`. What goes to a lost peer is dropped.
class ucx_worker {
 public:
  struct peer {
    ucx_worker* worker = nullptr;
    rank_id rank = -1;
    bool lost = false;
    std::uint32_t num_sent = 0;  ///< messages, for their order
    ucp_ep_h endpoint = nullptr;
  };

  explicit ucx_worker(const ucx_context& context);
  /// Every endpoint must be closed.
  ~ucx_worker();
  ucx_worker(const ucx_worker&) = delete;
  ucx_worker& operator=(const ucx_worker&) = delete;

  ucp_worker_h get() const { return worker_; }
  rank_id rank() const { return context_.rank(); }
  std::vector<std::byte> address() const;
  /// Once, before anything is sent. Both must outlive the worker; `talked[r]` is set when a way to rank r is opened.
  void know(const ucx_addresses& addresses, std::vector<std::atomic<bool>>* talked);

  /// The worker at `place` of the addresses, with an open endpoint unless it is lost.
  peer& reach(std::size_t place) {
    peer& p = peers_[place];
    if (p.endpoint == nullptr && !p.lost) [[unlikely]]
      open(place);
    return p;
  }

  /// Makes progress once; true when something happened. Throws what was noted.
  bool poll() {
    const bool any = ucp_worker_progress(worker_) != 0;
    if (failure_) [[unlikely]]
      throw_failure();
    return any;
  }
  /// The same without throwing.
  bool progress() noexcept { return ucp_worker_progress(worker_) != 0; }

  /// Notes a failure, if it is the first.
  void note(std::exception_ptr failure) noexcept {
    if (!failure_) failure_ = std::move(failure);
  }
  /// Notes that an operation with `rank` failed. What was cancelled is no failure.
  void note(ucs_status_t status, const char* what, rank_id rank) noexcept;
  bool failed() const { return failure_ != nullptr; }
  /// Whether a peer was lost, even if that has been thrown since.
  bool lost_any() const { return lost_any_; }
  [[noreturn]] void throw_failure();

  /// From now on losing a peer is no failure: all are about to close.
  void expect_closing() { closing_ = true; }
  bool any_open() const;
  /// Starts to close all endpoints; with `force` without the other side. What is under way then is cancelled.
  void begin_close(bool force);
  /// Whether they are closed; `progress` in between.
  bool closed();

 private:
  void open(std::size_t place);
  static void lose(void* of, ucp_ep_h endpoint, ucs_status_t status);

  const ucx_context& context_;
  ucp_worker_h worker_ = nullptr;
  std::exception_ptr failure_;
  bool closing_ = false;
  bool lost_any_ = false;
  std::vector<peer> peers_;
  const ucx_addresses* addresses_ = nullptr;
  std::vector<std::atomic<bool>>* talked_ = nullptr;
  std::vector<void*> closing_requests_;
};

}  // namespace imbrex

#include "imbrex/comm/ucx/ucx_heartbeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"

namespace imbrex {

namespace {
constexpr unsigned beat_id = 2;
constexpr int beats_per_silence = 10;
}  // namespace

ucx_heartbeat::ucx_heartbeat(const ucx_context& context, int num_ranks, int silence_s)
    : me_(context.rank()),
      worker_(context),
      silence_ns_(std::int64_t{silence_s} * 1'000'000'000),
      ranks_(static_cast<std::size_t>(num_ranks)) {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = beat_id;
  handler.cb = &ucx_heartbeat::heard;
  handler.arg = this;
  ucx_check(ucp_worker_set_am_recv_handler(worker_.get(), &handler), "ucp_worker_set_am_recv_handler", worker_.rank());
}

ucx_heartbeat::~ucx_heartbeat() {
  stop();
  constexpr std::int64_t moment = 50'000'000;
  const auto progress_until = [this](auto over, std::int64_t limit_ns) {
    for (const std::int64_t start = now_ns(); !over() && now_ns() - start < limit_ns;) {
      if (!worker_.progress()) std::this_thread::yield();
    }
  };
  const auto closed = [this] { return worker_.closed(); };
  if (worker_.any_open()) progress_until([] { return false; }, moment);
  worker_.begin_close(true);
  progress_until(closed, 20 * moment);
}

void ucx_heartbeat::start(ucx_addresses addresses, std::vector<std::atomic<bool>>& talked) {
  addresses_ = std::move(addresses);
  talked_ = &talked;
  worker_.know(addresses_, nullptr);
  thread_ = std::thread([this] { run(); });
}

void ucx_heartbeat::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void ucx_heartbeat::run() {
  using std::chrono::nanoseconds;
  const std::int64_t interval = silence_ns_ / beats_per_silence;
  // Ways that are being opened need several rounds of progress on both sides.
  const std::int64_t nap = std::min<std::int64_t>(interval, 50'000'000);
  std::int64_t next_beat = 0;
  std::int64_t last = now_ns();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    while (worker_.progress()) {
    }
    const std::int64_t now = now_ns();
    if (now - last > silence_ns_ / 2) {
      for (watched& w : ranks_) w.heard_ns = now;
    }
    last = now;
    look(now);
    if (now >= next_beat) {
      next_beat = now + interval;
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (ranks_[r].known && !ranks_[r].beating) beat(r);
      }
    }
    lock.lock();
    if (!stopping_) wake_.wait_for(lock, nanoseconds(nap));
  }
}

void ucx_heartbeat::look(std::int64_t now) {
  if (worker_.failed()) {
    try {
      worker_.throw_failure();
    } catch (const std::exception& e) {
      if (!closing_.load(std::memory_order_relaxed)) fail(e.what());
    }
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    watched& w = ranks_[r];
    if (!w.known) {
      w.known = (*talked_)[r].load(std::memory_order_relaxed);
      w.heard_ns = now;
    } else if (now - w.heard_ns > silence_ns_) {
      fail(fmt::format(
          "rank {} has heard nothing from rank {} for {:.1f} s: that process has ended, is stopped or cannot be "
          "reached (--imbrex-heartbeat-s sets how long is too long)",
          me_, r, static_cast<double>(now - w.heard_ns) * 1e-9));
    }
  }
}

void ucx_heartbeat::fail(const std::string& why) {
  if (failed_.load(std::memory_order_relaxed)) return;
  failure_ = why;
  failed_.store(true, std::memory_order_release);
}

void ucx_heartbeat::throw_failure() const { throw comm_error(failure_); }

void ucx_heartbeat::beat(std::size_t rank) {
  ucx_worker::peer& to = worker_.reach(rank);
  if (to.lost) return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE |
                       UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  param.cb.send = &ucx_heartbeat::has_left;
  param.user_data = &ranks_[rank];
  void* request = ucp_am_send_nbx(to.endpoint, beat_id, nullptr, 0, &me_, sizeof me_, &param);
  if (UCS_PTR_IS_ERR(request)) {
    worker_.note(UCS_PTR_STATUS(request), "a heartbeat", to.rank);
  } else if (request != nullptr) {
    ranks_[rank].beating = true;
  }
}

void ucx_heartbeat::has_left(void* request, ucs_status_t, void* of) {
  static_cast<watched*>(of)->beating = false;
  ucp_request_free(request);
}

ucs_status_t ucx_heartbeat::heard(void* of, const void*, std::size_t, void* data, std::size_t bytes,
                                  const ucp_am_recv_param_t*) {
  auto& self = *static_cast<ucx_heartbeat*>(of);
  rank_id from = -1;
  if (bytes == sizeof from) std::memcpy(&from, data, sizeof from);
  if (from < 0 || static_cast<std::size_t>(from) >= self.ranks_.size()) return UCS_OK;
  watched& w = self.ranks_[static_cast<std::size_t>(from)];
  w.known = true;
  w.heard_ns = now_ns();
  return UCS_OK;
}

}  // namespace imbrex

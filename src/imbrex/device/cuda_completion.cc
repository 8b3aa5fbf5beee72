#include "imbrex/device/cuda_completion.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/slab.h"
#include "imbrex/device/cuda_driver.h"
#include "imbrex/device/cuda_stream.h"

namespace imbrex {

namespace {
constexpr std::size_t flag_page_bytes = 4096;
constexpr std::size_t flag_bytes = 64;  // one cache line for each stream
constexpr unsigned polls_between_looks = 1024;
constexpr int most_waiting_streams = 8;
constexpr std::int64_t patience_ns = 5'000'000;
}  // namespace

/// From the driver's thread to the PE: look, something has finished.
struct cuda_completion::callback_note : work {
  cuda_completion* completion = nullptr;
  executor* pe = nullptr;
  std::atomic<std::uint64_t>* flag = nullptr;
  std::uint64_t number = 0;

  static void run_in_stream(void* p) {
    auto* note = static_cast<callback_note*>(p);
    note->flag->store(note->number, std::memory_order_release);
    note->pe->post(note);
  }
  static void arrive(work* w, work_action action) {
    auto* note = static_cast<callback_note*>(w);
    if (action == work_action::run) note->completion->poll();
    note->~callback_note();
    slab::free(note);
  }
};

cuda_completion::cuda_completion(executor& pe, completion_mode mode, slab_pool& pinned, bool kernels_wait)
    : pe_(pe),
      mode_(mode),
      kernels_wait_(kernels_wait && mode == completion_mode::flag && cuda_driver::loads_kernels_early()),
      pinned_(pinned) {}

cuda_completion::~cuda_completion() {
  for (void* page : flag_pages_) pinned_.free(page);
}

std::atomic<std::uint64_t>* cuda_completion::take_flag() {
  if (spare_flags_.empty()) {
    auto* page = static_cast<std::byte*>(pinned_.allocate(flag_page_bytes, "completion flags"));
    flag_pages_.push_back(page);
    for (std::size_t at = flag_page_bytes; at != 0; at -= flag_bytes)
      spare_flags_.push_back(new (page + at - flag_bytes) std::atomic<std::uint64_t>);
  }
  std::atomic<std::uint64_t>* flag = spare_flags_.back();
  spare_flags_.pop_back();
  flag->store(0, std::memory_order_relaxed);
  return flag;
}

void cuda_completion::attach(cuda_stream& s) {
  s.progress.flag = take_flag();
  s.gate_ = take_flag();
}

void cuda_completion::detach(cuda_stream& s) noexcept {
  if (s.is_busy) {
    wait_for(s);
    std::erase(busy_, &s);
    s.is_busy = false;
    --pe_.operations;
  }
  for (const cuda_progress::point& p : s.progress.points) s.gpu().give_back_event(p.event);
  s.progress.points.clear();
  spare_flags_.push_back(s.progress.flag);
  spare_flags_.push_back(s.gate_);
}

void cuda_completion::busy(cuda_stream& s) {
  if (s.is_busy) return;
  s.is_busy = true;
  busy_.push_back(&s);
  ++pe_.operations;
}

bool cuda_completion::kernel_may_wait(const cuda_stream& s) const {
  return kernels_wait_ && (s.progress.waiting_kernel != 0 || num_waiting_ < most_waiting_streams);
}

void cuda_completion::kernel_waits(cuda_stream& s) {
  if (s.progress.waiting_kernel == 0) ++num_waiting_;
  s.progress.waiting_kernel = s.progress.enqueued;
}

void cuda_completion::waits_no_more(cuda_stream& s) noexcept {
  if (s.progress.waiting_kernel == 0 || s.progress.waiting_kernel > s.progress.completed) return;
  s.progress.waiting_kernel = 0;
  --num_waiting_;
}

void cuda_completion::mark(cuda_stream& s) {
  cuda_progress& p = s.progress;
  if (p.marked == p.enqueued) return;
  s.gpu().make_current();
  switch (mode_) {
    case completion_mode::flag: s.check(cuda_driver::write_value(s.native(), p.flag, p.enqueued), "a flag"); break;
    case completion_mode::event: record_event(s); break;
    case completion_mode::callback: add_callback(s); break;
    case completion_mode::sync:
      s.check(cudaStreamSynchronize(s.native()), "waiting for a stream");
      p.completed = p.enqueued;
      break;
  }
  p.marked = p.enqueued;
}

void cuda_completion::record_event(cuda_stream& s) {
  cudaEvent_t e = s.gpu().take_event();
  s.progress.points.push_back({s.progress.enqueued, e});
  s.check(cudaEventRecord(e, s.native()), "recording an event");
}

void cuda_completion::add_callback(cuda_stream& s) {
  auto* note = new (slab::allocate(sizeof(callback_note))) callback_note;
  note->act = &callback_note::arrive;
  note->set_priority(priorities::communication);
  note->completion = this;
  note->pe = &pe_;
  note->flag = s.progress.flag;
  note->number = s.progress.enqueued;
  s.check(cudaLaunchHostFunc(s.native(), &callback_note::run_in_stream, note), "adding a host function");
}

void cuda_completion::refresh(cuda_stream& s) {
  cuda_progress& p = s.progress;
  if (mode_ == completion_mode::flag || mode_ == completion_mode::callback) {
    p.completed = std::max(p.completed, p.flag->load(std::memory_order_acquire));
    return;
  }
  while (!p.points.empty()) {
    const cudaError_t status = cudaEventQuery(p.points.front().event);
    if (status == cudaErrorNotReady) return;
    s.check(status, "asking an event");
    p.completed = p.points.front().number;
    s.gpu().give_back_event(p.points.front().event);
    p.points.pop_front();
  }
}

void cuda_completion::poll() {
  if (busy_.empty()) return;
  bool progress = false;
  for (std::size_t i = 0; i < busy_.size();) {
    cuda_stream& s = *busy_[i];
    const std::uint64_t before = s.progress.completed;
    refresh(s);
    waits_no_more(s);
    progress |= s.progress.completed != before;
    s.run_reached();
    if (s.progress.completed == s.progress.enqueued && !s.has_functions()) {
      s.is_busy = false;
      s.became_idle();
      busy_[i] = busy_.back();
      busy_.pop_back();
      --pe_.operations;
    } else {
      ++i;
    }
  }
  if (progress) {
    fruitless_ = 0;
  } else if (++fruitless_ % polls_between_looks == 0) {
    look_for_failures();
  }
}

// A GPU that has failed writes no flags any more, so now and then the driver is asked.
void cuda_completion::look_for_failures() {
  const std::int64_t now = now_ns();
  if (fruitless_ == polls_between_looks) last_progress_ = now;
  if (now - last_progress_ < patience_ns) return;
  last_progress_ = now;
  for (cuda_stream* s : busy_) {
    const cudaError_t status = cudaStreamQuery(s->native());
    if (status != cudaErrorNotReady) s->check(status, "asking a stream");
  }
}

std::string cuda_completion::unfinished() const {
  std::string text;
  for (const cuda_stream* s : busy_) {
    const std::string of_stream = s->unfinished();
    if (!of_stream.empty()) text += fmt::format("{}{}", text.empty() ? "" : "; ", of_stream);
  }
  return text;
}

void cuda_completion::settle() {
  for (cuda_stream* s : busy_) mark(*s);
}

void cuda_completion::wait_for(cuda_stream& s) noexcept {
  s.open_gates();
  static_cast<void>(cudaStreamSynchronize(s.native()));
  s.progress.completed = s.progress.marked = s.progress.enqueued;
  waits_no_more(s);
}

void cuda_completion::drain() noexcept {
  for (cuda_stream* s : busy_) wait_for(*s);
}

}  // namespace imbrex

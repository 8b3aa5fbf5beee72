#include "imbrex/device/cuda/cuda_completion.h"

#include <unistd.h>
#include <algorithm>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/device/cuda/api/cuda_driver.h"
#include "imbrex/device/cuda/cuda_stream.h"

namespace imbrex {

namespace {
constexpr std::size_t flag_page_bytes = 4096;
constexpr std::size_t flag_bytes = 64;  // one cache line for each stream
constexpr unsigned polls_between_looks = 1024;
constexpr std::int64_t patience_ns = 5'000'000;
constexpr std::int64_t patience_with_a_gate_ns = 1'000'000'000;
constexpr std::int64_t patience_at_the_end_ns = 5'000'000'000;
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
      meter_(pe),
      mode_(mode),
      kernels_wait_(kernels_wait && mode == completion_mode::flag && cuda_driver::loads_kernels_early()),
      pinned_(pinned) {
  give_up_ = take_flag();
}

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
    finish(s);
    std::erase(busy_, &s);
    s.is_busy = false;
    --pe_.operations;
  }
  for (const cuda_progress::point& p : s.progress.points) s.gpu().give_back_event(p.event);
  s.progress.points.clear();
  s.gpu().gates().open_all(&s);
  spare_flags_.push_back(s.progress.flag);
  spare_flags_.push_back(s.gate_);
}

// Its own functions are dropped, but what it waits for of others comes first: others may already wait for what it makes
// of that.
void cuda_completion::finish(cuda_stream& s) noexcept {
  s.open_gates();
  const std::int64_t start = now_ns();
  while (!wait_for(s, now_ns() + patience_ns)) {
    const std::int64_t waited = now_ns() - start;
    if (passing_ && waited > patience_at_the_end_ns) return;
    if (passing_ || waited < patience_with_a_gate_ns) continue;
    const std::string gate = first_closed_gate();
    if (gate.empty()) continue;
    pe_.fail(
        fmt::format("{} was destroyed while it waits for other streams, but {} waits for this PE: await `done()` "
                    "before destroying it",
                    s.label(), gate));
    let_pass();
  }
}

void cuda_completion::busy(cuda_stream& s) {
  if (s.is_busy) return;
  s.is_busy = true;
  busy_.push_back(&s);
  ++pe_.operations;
}

// Of one stream only one kernel runs at a time.
int cuda_completion::blocks_to_wait(cuda_stream& s, int wanted) {
  if (!kernels_wait_) return 0;
  cuda_progress& p = s.progress;
  if (p.waiting_blocks == 0) p.waiting_blocks = s.gpu().take_waiting_blocks(wanted);
  return std::min(wanted, p.waiting_blocks);
}

void cuda_completion::kernel_waits(cuda_stream& s) { s.progress.waiting_kernel = s.progress.enqueued; }

void cuda_completion::driver_waits(cuda_gpu& gpu, const unsigned long long* word) {
  for (const awaited_word& w : awaited_words_) {
    if (w.at == word && w.by == &gpu) return;
  }
  awaited_words_.push_back({&gpu, word});
}

std::string cuda_completion::first_closed_gate() const {
  for (const cuda_stream* s : busy_) {
    if (std::string gate = s->closed_gate(); !gate.empty()) return gate;
  }
  return {};
}

void cuda_completion::waits_no_more(cuda_stream& s) noexcept {
  if (s.progress.waiting_kernel == 0 || s.progress.waiting_kernel > s.progress.completed) return;
  s.progress.waiting_kernel = 0;
  s.gpu().give_back_waiting_blocks(std::exchange(s.progress.waiting_blocks, 0));
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
    if (status == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());  // not to be found by a user's own check
      return;
    }
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
    if (status == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());
    } else {
      s->check(status, "asking a stream");
    }
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

void cuda_completion::ensure_noticed() {
  for (cuda_stream* s : busy_) mark(*s);
}

// A stream that has failed has ended.
bool cuda_completion::wait_for(cuda_stream& s, std::int64_t deadline_ns) noexcept {
  for (unsigned asked = 0; cudaStreamQuery(s.native()) == cudaErrorNotReady; ++asked) {
    static_cast<void>(cudaGetLastError());
    if (now_ns() >= deadline_ns) return false;
    if (asked > 100) usleep(asked > 10'000 ? 100 : 1);
  }
  static_cast<void>(cudaGetLastError());
  s.progress.completed = s.progress.marked = s.progress.enqueued;
  waits_no_more(s);
  return true;
}

void cuda_completion::let_pass() noexcept {
  passing_ = true;
  give_up_->store(cuda_pull::beyond_all, std::memory_order_release);
  for (cuda_stream* s : busy_) s->open_gates();
  if (!busy_.empty()) fill_awaited_words();
}

// What the driver waits for in another process may have died with it: the words are made to say that it has come.
void cuda_completion::fill_awaited_words() noexcept {
  for (const awaited_word& w : std::exchange(awaited_words_, {})) {
    cudaStream_t aside = nullptr;
    try {
      w.by->make_current();
      if (cudaStreamCreateWithPriority(&aside, cudaStreamNonBlocking, 0) == cudaSuccess)
        static_cast<void>(
            cuda_driver::write_value(aside, const_cast<unsigned long long*>(w.at), cuda_pull::beyond_all));
    } catch (const error&) {  // a GPU that has failed waits for nothing
    }
    if (aside != nullptr) static_cast<void>(cudaStreamDestroy(aside));
    static_cast<void>(cudaGetLastError());
  }
}

bool cuda_completion::drain(std::int64_t deadline_ns) noexcept {
  bool all = true;
  for (cuda_stream* s : busy_) all = wait_for(*s, deadline_ns) && all;
  return all;
}

}  // namespace imbrex

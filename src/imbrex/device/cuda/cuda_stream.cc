#include "imbrex/device/cuda/cuda_stream.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/device/cuda/api/cuda_driver.h"
#include "imbrex/device/cuda/api/cuda_error.h"
#include "imbrex/device/cuda/cuda_graph.h"

namespace imbrex {

namespace {

/// Captures that the calling thread has open. While there are none, no stream needs to be asked.
thread_local int open_captures = 0;

/// Whether a kernel that ran earlier is to blame, and not the call that reports it.
bool is_of_an_earlier_kernel(cudaError_t e) {
  switch (e) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable: return true;
    default: return false;
  }
}

}  // namespace

cuda_stream::cuda_stream(cuda_device& d, cuda_gpu& gpu, stream_priority p, std::string label)
    : stream(std::move(label)), device_(&d), gpu_(&gpu), completion_(&d.completion()), priority_(p) {
  begin();
}

cuda_stream::~cuda_stream() {
  if (completion_ != nullptr) completion_->detach(*this);  // else it is on its way to another PE
  if (trace_ != nullptr) trace_->collect();
  while (first_ != nullptr) {
    stream_operation* op = first_;
    first_ = op->next;
    op->act(op, work_action::discard);
  }
  end();
}

std::uint64_t cuda_stream::new_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

void cuda_stream::begin() {
  number_ = new_number();
  passed_.forget();
  gpu_->make_current();
  if (native_ == nullptr) {
    check_cuda(cudaStreamCreateWithPriority(&native_, cudaStreamNonBlocking, gpu_->native_priority(priority_)),
               "creating a stream");
  }
  completion_->attach(*this);
  if (trace_recorder* recorder = device_->pe().recorder; recorder != nullptr && track_ == nullptr) {
    const int order = 10'000 + 1000 * gpu_->number() + (priority_ == stream_priority::high ? 1 : 0);  // below the PEs
    track_ = &recorder->add_track(fmt::format("GPU {}: {}", gpu_->number(), label()), order, track_kind::stream);
    if (device_->activity() == nullptr) trace_ = std::make_unique<cuda_trace>(*gpu_, *track_);
  }
}

void cuda_stream::end() noexcept {
  static_cast<void>(cudaStreamDestroy(native_));
  native_ = nullptr;
  if (num_arrived_ != nullptr) gpu_->pool().free(std::exchange(num_arrived_, nullptr));
  if (word_.at != nullptr) gpu_->give_back_word(std::exchange(word_, {}));
}

void cuda_stream::leave() {
  std::exchange(completion_, nullptr)->detach(*this);
  gate_ = nullptr;
  if (trace_ != nullptr) trace_->collect();
  last_point_.reset();
  progress = {};
  gates_ = gates_opened_ = 0;
  word_at_ = UINT64_MAX;
}

void cuda_stream::arrive(device& here) {
  device_ = static_cast<cuda_device*>(&here);
  completion_ = &device_->completion();
  if (&device_->gpu() != gpu_) {
    gpu_->make_current();
    end();
    gpu_ = &device_->gpu();
    track_ = nullptr;
    trace_.reset();
  }
  begin();
}

device& cuda_stream::on() const { return *device_; }

void cuda_stream::check(cudaError_t status, const char* what) const {
  if (status == cudaSuccess) [[likely]]
    return;
  static_cast<void>(cudaGetLastError());
  if (!is_of_an_earlier_kernel(status)) {
    throw device_error(fmt::format("{} in {}, on GPU {} ({}): {}", what, label(), gpu_->number(), gpu_->name(),
                                   cuda_error_text(status)));
  }
  throw device_error(fmt::format("GPU {} ({}) failed: {}; not finished on this PE, and so among the suspects: {}",
                                 gpu_->number(), gpu_->name(), cuda_error_text(status), completion_->unfinished()));
}

void cuda_stream::note(const char* name, trace_category what) {
  if (recorded_rounds::any()) [[unlikely]]
    refuse_beside_rounds(name);
  if (capturing()) return;
  cuda_progress& p = progress;
  ++p.enqueued;
  names_[p.enqueued % remembered] = name;
  completion_->busy(*this);
  if (completion_->meter().is_measuring() && what != trace_category::runtime) [[unlikely]]
    measuring_ = completion_->meter().begin(*gpu_, native_);
  if (track_ != nullptr && what != trace_category::runtime) [[unlikely]] {
    if (trace_ != nullptr) {
      trace_->begin(native_, name, what);
    } else {
      device_->activity()->begin(*track_, name, what);
    }
    tracing_ = true;
  }
}

void cuda_stream::noted() {
  if (std::exchange(measuring_, false)) [[unlikely]]
    completion_->meter().end(native_);
  if (!tracing_) return;
  tracing_ = false;
  if (trace_ != nullptr) {
    trace_->end(native_);
  } else {
    device_->activity()->end();
  }
}

kernel_mark cuda_stream::mark() {
  if (completion_->mode() != completion_mode::flag || capturing()) return {};
  return {reinterpret_cast<unsigned long long*>(progress.flag), progress.enqueued, counter()};
}

unsigned* cuda_stream::counter() {
  if (num_arrived_ == nullptr) {
    num_arrived_ = static_cast<unsigned*>(gpu_->pool().allocate(sizeof(unsigned), "a stream's counter"));
    check(cudaMemsetAsync(num_arrived_, 0, sizeof(unsigned), native_), "setting a counter");
  }
  return num_arrived_;
}

void cuda_stream::marked() {
  if (completion_->mode() == completion_mode::flag && !capturing()) progress.marked = progress.enqueued;
}

std::string cuda_stream::unfinished() const {
  std::string text;
  const std::uint64_t oldest =
      std::max(progress.completed, progress.enqueued > remembered ? progress.enqueued - remembered : 0) + 1;
  int listed = 0;
  for (std::uint64_t n = oldest; n <= progress.enqueued; ++n) {
    if (++listed > 4) {
      text += fmt::format(" and {} more", progress.enqueued - n + 1);
      break;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ", ", names_[n % remembered]);
  }
  return text.empty() ? text : fmt::format("{} in {}", text, label());
}

namespace {
enum class lies_in { pageable, pinned, device };

lies_in where(const void* memory) {
  cudaPointerAttributes a{};
  if (cudaPointerGetAttributes(&a, memory) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return lies_in::pageable;
  }
  return a.type == cudaMemoryTypeUnregistered ? lies_in::pageable
         : a.type == cudaMemoryTypeHost       ? lies_in::pinned
                                              : lies_in::device;
}
}  // namespace

// The driver waits for the stream when it copies memory that is not pinned, or any within the host; but the stream may
// wait for this thread.
bool cuda_stream::copy_would_block(const void* to, const void* from) const {
  if (!gpu_->gates().any()) [[likely]]
    return false;
  gpu_->make_current();
  if (capturing()) return false;
  const lies_in t = where(to), f = where(from);
  return t == lies_in::pageable || f == lies_in::pageable || (t == lies_in::pinned && f == lies_in::pinned);
}

// Through pinned memory, of which there is one piece: the PE copies its side when the stream has come there.
void cuda_stream::copy_beside_gates(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t largest_piece = 4 << 20;
  auto* const t = static_cast<std::byte*>(to);
  const auto* const f = static_cast<const std::byte*>(from);
  const bool to_host = where(to) != lies_in::device, from_host = where(from) != lies_in::device;
  if (to_host && from_host) return call("copy", [=] { std::memcpy(t, f, bytes); });
  const std::size_t piece = std::min(bytes, largest_piece);
  const std::shared_ptr<std::byte> staged(
      static_cast<std::byte*>(device_->allocate(piece, memory_kind::pinned)),
      [&d = *device_, piece](std::byte* memory) { d.free(memory, piece, memory_kind::pinned); });
  for (std::size_t at = 0; at < bytes; at += largest_piece) {
    const std::size_t n = std::min(largest_piece, bytes - at);
    if (from_host) {
      call("copy", [staged, f, at, n] { std::memcpy(staged.get(), f + at, n); });
      copy(t + at, staged.get(), n);
    } else {
      copy(staged.get(), f + at, n);
      call("copy", [staged, t, at, n] { std::memcpy(t + at, staged.get(), n); });
    }
  }
  then("copied", [staged] {});
}

void cuda_stream::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (kept_ != nullptr) return keep_copy(to, from, bytes);
  if (copy_would_block(to, from)) [[unlikely]]
    return copy_beside_gates(to, from, bytes);
  gpu_->make_current();
  note("copy", trace_category::copy);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native_), "copying");
  noted();
}

/// As a batch of one: docs/design/0006-tasks.md. A capture takes plain copies only.
void cuda_stream::transfer(void* to, const void* from, std::size_t bytes) {
#if CUDART_VERSION >= 13000
  if (bytes == 0) return;
  if (kept_ == nullptr && !capturing() && !copy_would_block(to, from)) {
    gpu_->make_current();
    note("copy", trace_category::copy);
    cudaMemcpyAttributes how{};
    how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    std::size_t first = 0;
    check(cudaMemcpyBatchAsync(&to, &from, &bytes, 1, &how, &first, 1, native_), "copying");
    return noted();
  }
#endif
  copy(to, from, bytes);
}

void cuda_stream::copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t bytes,
                            std::size_t num_rows) {
  if (bytes == 0 || num_rows == 0) return;
  if (kept_ != nullptr || copy_would_block(to, from)) {
    return stream::copy_rows(to, to_pitch, from, from_pitch, bytes, num_rows);
  }
  gpu_->make_current();
  note("copy", trace_category::copy);
  check(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes, num_rows, cudaMemcpyDefault, native_), "copying rows");
  noted();
}

void cuda_stream::fill(void* to, unsigned char value, std::size_t bytes) {
  if (bytes == 0) return;
  if (kept_ != nullptr) return keep_fill(to, value, bytes);
  gpu_->make_current();
  note("fill", trace_category::kernel);
  check(cudaMemsetAsync(to, value, bytes, native_), "filling memory");
  noted();
}

/// Streams that wait for an event of a capture are part of it, too.
bool cuda_stream::capturing() const {
  if (open_captures == 0) [[likely]]
    return false;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(native_, &status), "asking for a capture");
  return status != cudaStreamCaptureStatusNone;
}

event cuda_stream::record() {
  if (kept_ != nullptr) return kept_point();
  if (knows_point() && last_point_->native() != nullptr) return event(last_point_);
  return record(cuda_word_point());
}

event cuda_stream::record_for_others() {
  if (kept_ != nullptr) return kept_point();
  if (capturing()) return record(cuda_word_point());
  if (knows_point() && last_point_->word().at != nullptr) return event(last_point_);
  if (word_at_ != progress.enqueued) return record(count());
  if (!gpu_->is_reached_by_all()) return record(count());
  // A kernel has counted: that is enough.
  last_point_ = std::make_shared<cuda_event>(*gpu_, position(), cuda_event::by_word_only{count()});
  last_point_at_ = progress.enqueued;
  return event(last_point_);
}

/// Whether what is enqueued now ends at the last point that was recorded.
bool cuda_stream::knows_point() const {
  return last_point_ != nullptr && last_point_at_ == progress.enqueued && !capturing();
}

event cuda_stream::record(cuda_word_point word) {
  gpu_->make_current();
  const bool is_captured = capturing();
  auto point = std::make_shared<cuda_event>(*gpu_, is_captured ? stream_position() : position(), word);
  check(cudaEventRecord(point->native(), native_), "recording an event");
  if (!is_captured) {
    last_point_ = point;
    last_point_at_ = progress.enqueued;
  }
  return event(std::move(point));
}

cuda_word_point cuda_stream::count() {
  if (word_.at == nullptr) word_ = gpu_->take_word();
  if (word_at_ != progress.enqueued) {
    gpu_->make_current();
    check(cuda_driver::write_value(native_, word_.at, ++word_.last), "telling others how far a stream is");
    word_at_ = progress.enqueued;
  }
  return {word_.at, word_.last, gpu_->identity()};
}

bool cuda_stream::record_shared(shared_point& p) {
  if (kept_ != nullptr || capturing()) return false;
  const cuda_word_point point = count();
  p.value = point.value;
  return gpu_->shared().share(point.at, p.word);
}

const cuda_event* cuda_stream::of_cuda(const event& e) const {
  if (e.state() == nullptr) return nullptr;
  const auto* point = dynamic_cast<const cuda_event*>(e.state().get());
  if (point != nullptr || e.complete()) return point;
  if (dynamic_cast<const recorded_point*>(e.state().get()) != nullptr) {
    throw usage_error(
        fmt::format("{} was to wait for a round that is recorded (ix::repeat), and it is not one of the streams that "
                    "are: wait when "
                    "all rounds are over",
                    label()));
  }
  throw usage_error(fmt::format(
      "{} of a GPU cannot wait for a stream of the host or of OpenCL: await `done()` of the other stream first",
      label()));
}

// Of another GPU only: on the same one the kernel would keep what it waits for from running, or a process from its
// turn.
bool cuda_stream::kernel_may_wait_for(const cuda_event& e) const {
  return e.word().at != nullptr && e.word().of != gpu_->identity() && gpu_->reaches(e.gpu()) && !capturing();
}

void cuda_stream::wait(const event& e) {
  if (kept_ != nullptr) return keep_wait(e);
  const cuda_event* const point = of_cuda(e);
  if (point == nullptr) return;
  if (!capturing()) {
    if (point->position.stream == number_ || passed_.include(point->position)) return;
    passed_.add(point->position);
  }
  gpu_->make_current();
  note("wait");
  if (point->native() != nullptr) {
    check(cudaStreamWaitEvent(native_, point->native(), 0), "waiting for an event");
  } else {
    completion_->driver_waits(*gpu_, point->word().at);
    check(cuda_driver::wait_value(native_, point->word().at, point->word().value), "waiting for another GPU");
  }
}

// What is copied engines of the GPU bring as fast, but they take several microseconds longer to begin and to end.
void cuda_stream::pull(const event& ready, void* to, const void* from, std::size_t bytes) {
  if (kept_ != nullptr) return stream::pull(ready, to, from, bytes);
  constexpr std::size_t worth_a_kernel = 16 << 20;
  const cuda_event* const point = of_cuda(ready);
  const bool of_this_gpu =
      point != nullptr && (point->word().at != nullptr ? point->word().of == gpu_->identity() : &point->gpu() == gpu_);
  const bool apart = point != nullptr && !gpu_->reaches(point->gpu());
  if (bytes == 0 || bytes > worth_a_kernel || of_this_gpu || apart) return stream::pull(ready, to, from, bytes);
  cuda_pull p;
  p.to = to;
  p.from = from;
  p.bytes = bytes;
  p.blocks = cuda_pull::blocks_for(bytes);
  if (capturing()) {
    wait(ready);
    return launch_captured(p);
  }
  const int waiting = point != nullptr && kernel_may_wait_for(*point)
                          ? completion_->blocks_to_wait(*this, static_cast<int>(p.blocks))
                          : 0;
  if (waiting == 0) {
    wait(ready);
  } else {
    p.blocks = static_cast<unsigned>(waiting);
  }
  launch_pull(p, waiting != 0 ? point : nullptr);
  if (waiting != 0) passed_.add(point->position);
}

/// Nobody is told of a graph's operations.
void cuda_stream::launch_captured(const cuda_pull& p) {
  gpu_->make_current();
  note("pull", trace_category::copy);
  check(p.launch(native_), "capturing a copy from another GPU");
  noted();
}

void cuda_stream::launch_pull(cuda_pull p, const cuda_event* ready) {
  gpu_->make_current();
  note("pull", trace_category::copy);
  p.mark = mark();
  p.mark.num_arrived = counter();
  if (ready != nullptr) {
    p.ready = ready->word().at;
    p.ready_value = ready->word().value;
    p.give_up = completion_->give_up();
    completion_->kernel_waits(*this);
  }
  if (word_.at != nullptr) {
    p.word = word_.at;
    p.word_value = ++word_.last;
    word_at_ = progress.enqueued;
  }
  check(p.launch(native_), "launching a copy from another GPU");
  marked();
  noted();
}

bool cuda_stream::idle() const {
  if (kept_ != nullptr) return false;
  auto& self = const_cast<cuda_stream&>(*this);
  completion_->refresh(self);
  return progress.completed == progress.enqueued && first_ == nullptr;
}

void cuda_stream::enqueue(stream_operation* op) {
  if (kept_ != nullptr) {
    const char* const name = op->name;
    op->act(op, work_action::discard);
    refuse_in_rounds(name);
  }
  if (capturing()) {
    op->act(op, work_action::discard);
    throw usage_error(
        fmt::format("{} is being captured: nothing can be awaited in it, and no function of the host be "
                    "part of a graph",
                    label()));
  }
  ++num_functions_;
  op->next = nullptr;
  op->number = progress.enqueued;
  if (first_ == nullptr) completion_->mark(*this);
  if (idle()) {
    perform(device_->pe(), op);
    return;
  }
  completion_->mark(*this);
  (last_ != nullptr ? last_->next : first_) = op;
  last_ = op;
  completion_->busy(*this);
  if (!op->is_kernel) return;
  // What is enqueued later waits for the function: the stream stops at a gate that the PE opens.
  gpu_->make_current();
  note(op->name);
  check(cuda_driver::wait_value(native_, gate_, ++gates_), "waiting for a function of the host");
  gpu_->gates().close(this, op->name, label());
}

void cuda_stream::run_reached() {
  if (trace_ != nullptr) [[unlikely]]
    trace_->collect();
  while (first_ != nullptr && first_->number <= progress.completed) {
    stream_operation* op = first_;
    first_ = op->next;
    if (first_ == nullptr) last_ = nullptr;
    const bool gated = op->is_kernel;
    perform(device_->pe(), op);
    if (!gated) continue;
    gate_->store(++gates_opened_, std::memory_order_release);
    gpu_->gates().open(this);
  }
}

std::string cuda_stream::closed_gate() const {
  for (const stream_operation* op = first_; op != nullptr; op = op->next) {
    if (op->is_kernel) return fmt::format("'{}' in {}", op->name, label());
  }
  return {};
}

cudaGraph_t cuda_stream::capture_native(const std::function<void()>& enqueue) {
  if (kept_ != nullptr) refuse_in_rounds("a capture");
  gpu_->make_current();
  check(cudaStreamBeginCapture(native_, cudaStreamCaptureModeRelaxed), "starting a capture");
  ++open_captures;
  cudaGraph_t captured = nullptr;
  try {
    enqueue();
  } catch (...) {
    --open_captures;
    static_cast<void>(cudaStreamEndCapture(native_, &captured));
    if (captured != nullptr) static_cast<void>(cudaGraphDestroy(captured));
    throw;
  }
  --open_captures;
  gpu_->make_current();
  check(cudaStreamEndCapture(native_, &captured), "ending a capture");
  return captured;
}

std::unique_ptr<graph> cuda_stream::capture(const std::function<void()>& enqueue) {
  return std::make_unique<cuda_graph>(capture_native(enqueue));
}

bool cuda_stream::recapture(graph& g, const std::function<void()>& enqueue) {
  return static_cast<cuda_graph&>(g).update(capture_native(enqueue));
}

void cuda_stream::run(graph& g) {
  if (kept_ != nullptr) refuse_in_rounds("a graph");
  gpu_->make_current();
  note("graph", trace_category::kernel);
  check(cudaGraphLaunch(static_cast<cuda_graph&>(g).executable(), native_), "launching a graph");
  noted();
}

}  // namespace imbrex

// A stream of a GPU while rounds are recorded.
#include <fmt/format.h>

#include <utility>

#include "imbrex/async/actor.h"
#include "imbrex/device/cuda/cuda_launch.h"
#include "imbrex/device/cuda/cuda_stream.h"

namespace imbrex {

namespace {
/// Which the driver would read at once, but a graph when it is run.
bool is_pageable(const void* memory) {
  cudaPointerAttributes a{};
  if (cudaPointerGetAttributes(&a, memory) == cudaSuccess) return a.type == cudaMemoryTypeUnregistered;
  static_cast<void>(cudaGetLastError());
  return true;
}
}  // namespace

void cuda_stream::record_rounds(const std::shared_ptr<recorded_rounds>& into) {
  event now = idle() ? event() : record();
  rounds_ = into;
  kept_ = &into->add(*this);
  kept_number_ = new_number();
  if (now.state() != nullptr) kept_->add_before(std::move(now));
}

void cuda_stream::end_round() {
  if (kept_ != nullptr) kept_->end_round();
}

void cuda_stream::stop_recording() {
  kept_ = nullptr;
  rounds_.reset();
}

void cuda_stream::keep_kernel(const char* name, const void* function, const launch_shape& shape,
                              const detail::kernel_values& arguments, std::size_t batch_bytes) {
  kept_operation& op = kept_->add(kept_operation::kind::kernel, name);
  op.function = function;
  op.shape = shape;
  op.batch_bytes = batch_bytes;
  for (std::size_t i = 0; i < arguments.count; ++i) kept_->add_argument(op, arguments.at[i], arguments.bytes[i]);
}

void cuda_stream::keep_copy(void* to, const void* from, std::size_t bytes) {
  if (is_pageable(to) || is_pageable(from)) refuse_in_rounds("a copy of the host's memory that is not pinned");
  kept_operation& op = kept_->add(kept_operation::kind::copy, "copy");
  op.to = to;
  op.from = from;
  op.bytes = bytes;
}

void cuda_stream::keep_fill(void* to, unsigned char value, std::size_t bytes) {
  kept_operation& op = kept_->add(kept_operation::kind::fill, "fill");
  op.to = to;
  op.value = value;
  op.bytes = bytes;
}

event cuda_stream::kept_point() {
  return event(
      std::make_shared<recorded_point>(rounds_, *kept_, stream_position{kept_number_, kept_->operations.size()}));
}

void cuda_stream::keep_wait(const event& e) {
  if (e.state() == nullptr) return;
  const auto* const point = dynamic_cast<const recorded_point*>(e.state().get());
  if (point == nullptr || point->all != rounds_) {
    if (point == nullptr || !point->complete()) kept_->add_before(e);
    return;
  }
  if (point->stream == kept_->number) return;
  kept_operation& op = kept_->add(kept_operation::kind::wait, "wait");
  op.stream = point->stream;
  op.place = point->place;
}

void cuda_stream::refuse_in_rounds(const char* what) const {
  throw usage_error(fmt::format(
      "'{}' was put into {} in a round that is recorded (ix::repeat): there only kernels of the program's own, copies, "
      "fills and waits for other streams can be, and nothing can be awaited but messages of GPU memory; do that before "
      "or after",
      what, label()));
}

void cuda_stream::refuse_beside_rounds(const char* name) const {
  const executor* const pe = executor::current();
  const actor_ties* const ties = pe != nullptr ? pe->ties_of_acting() : nullptr;
  if (ties == nullptr || !ties->records_rounds) return;
  throw usage_error(fmt::format(
      "'{}' was put into {} in a round that is recorded (ix::repeat), but that is not one of the chare's own streams: "
      "use `streams()`, or streams that the chare has made",
      name, label()));
}

}  // namespace imbrex

#include "submitted.h"

#include <imbrex/device/interop/cuda_native.h>

#include "objects.h"

namespace imbrex_python {

ix::hetero_task& submitted::running() const {
  if (in_window_)
    throw ix::usage_error(
        "this task was recorded in a window and does not run itself: await what window.replay() gives");
  return task();
}

wait_pointer submitted::until_over(const std::shared_ptr<submitted>& t) {
  static_cast<void>(t->running());
  return std::make_shared<wait>([t] { return over(t->task(), t->outcome_); });
}

ix::task<value> submitted::over(ix::hetero_task t, std::shared_ptr<outcome> o) {
  std::exception_ptr failed;
  try {
    co_await t;
  } catch (...) {
    failed = std::current_exception();
  }
  // The runtime's has the same text with the task's name in front, but not the object.
  if (failed && o != nullptr && o->failure != nullptr) throw python_failure(*o->failure);
  if (failed) std::rethrow_exception(failed);
  co_return o != nullptr ? o->result : value();
}

void python_function::operator()(const ix::untyped_call& c) const {
  if (c.order == nullptr) return call(c, nullptr);
  ix::enqueue_native(*c.order, "python", [&](CUstream_st* native) { call(c, native); });
}

void python_function::call(const ix::untyped_call& c, CUstream_st* native) const {
  const with_python here;
  const ix::trace_range shown(name_);
  std::vector<std::shared_ptr<bool>> kept;
  try {
    nb::list memory;
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      const auto [bytes, reads] = objects_[i];
      if (c.order != nullptr) {
        memory.append(reinterpret_cast<std::uintptr_t>(c.objects[i]));
      } else {
        kept.push_back(std::make_shared<bool>(true));
        memory.append(bytes_of(c.objects[i], bytes, reads, kept.back()));
      }
    }
    nb::object stream = nb::none();
    if (c.order != nullptr) stream = nb::int_(reinterpret_cast<std::uintptr_t>(native));
    outcome_->result = value(function_.get()(std::move(memory), stream));
  } catch (nb::python_error& e) {
    outcome_->failure = std::make_unique<python_failure>(python_failure::of(e, name_));
    throw python_failure(*outcome_->failure);
  }
  for (const std::shared_ptr<bool>& k : kept) {
    if (!*k) continue;
    throw ix::usage_error(name_ +
                          " keeps an array that it was called with, whose memory is another's afterwards: let it keep "
                          "a copy");
  }
}

ix::launch_shape shape_of(const nb::tuple& t) {
  const auto extent = [](const nb::handle h) {
    const auto e = nb::cast<nb::tuple>(h);
    return ix::extent3{nb::cast<unsigned>(e[0]), nb::cast<unsigned>(e[1]), nb::cast<unsigned>(e[2])};
  };
  return {.groups = extent(t[0]), .group = extent(t[1]), .shared_bytes = nb::cast<std::size_t>(t[2])};
}

std::vector<std::vector<std::byte>> bytes_of_values(const std::vector<nb::object>& values) {
  std::vector<std::vector<std::byte>> all;
  for (const nb::object& v : values) {
    const auto b = nb::cast<nb::bytes>(v);
    const auto* const first = static_cast<const std::byte*>(b.data());
    all.emplace_back(first, first + b.size());
  }
  return all;
}

}  // namespace imbrex_python

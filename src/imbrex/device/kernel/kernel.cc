#include "imbrex/device/kernel/kernel.h"

#include <fmt/core.h>

#include <climits>
#include <cstring>
#include <memory>

#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/device/device.h"
#include "imbrex/device/kernel/cpu_streaming.h"
#include "imbrex/device/kernel/late_kernel.h"
#include "imbrex/device/stream.h"

namespace imbrex {

#if IMBREX_HAVE_OPENCL
namespace detail {
void launch_opencl_kernel(stream& s, const kernel_source& k, const launch_shape& shape, void* const* arguments);
}
#endif

namespace {

struct free_to_slab {
  void operator()(std::byte* memory) const { slab::free(memory); }
};
using slab_block = std::unique_ptr<std::byte[], free_to_slab>;

/// One block: where the values are, then the values.
slab_block copy_of(const kernel_source& k, void* const* arguments) {
  constexpr std::size_t aligned = 16;
  const auto room = [](std::size_t bytes) { return (bytes + aligned - 1) / aligned * aligned; };
  std::size_t bytes = room(k.arguments.size() * sizeof(void*));
  for (const kernel_argument& a : k.arguments) bytes += room(a.value_bytes());

  slab_block block(static_cast<std::byte*>(slab::allocate(bytes)));
  auto** places = reinterpret_cast<void**>(block.get());
  std::byte* value = block.get() + room(k.arguments.size() * sizeof(void*));
  for (std::size_t i = 0; i < k.arguments.size(); ++i) {
    places[i] = std::memcpy(value, arguments[i], k.arguments[i].value_bytes());
    value += room(k.arguments[i].value_bytes());
  }
  return block;
}

/// A launch on the host device, until its turn comes.
struct host_launch {
  const kernel_source* kernel;
  launch_shape shape;
  slab_block arguments;
  void operator()() const {
    run_on_cpu(*kernel, shape, reinterpret_cast<void**>(arguments.get()), 0, shape.num_groups());
  }
};

std::string text_of(const extent3& n) { return fmt::format("{{{}, {}, {}}}", n[0], n[1], n[2]); }

}  // namespace

cpu_function cpu_forms::best() const {
#if defined(__x86_64__)
  static const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx512 && avx512 != nullptr) return avx512;
  if (has_avx2 && avx2 != nullptr) return avx2;
#endif
  return everywhere;
}

bool kernel_source::late_runs_on_host() const { return late->has_cpu(); }
bool kernel_source::late_runs_on_cuda() const { return late->has_cuda(); }

void check_launch(const kernel_source& k, const launch_shape& shape) {
  if (shape.num_groups() == 0)
    throw usage_error(
        fmt::format("kernel '{}' cannot be launched with {} groups: each number is at least 1; where there "
                    "is nothing to do, do not launch",
                    k.name, text_of(shape.groups)));
  if (shape.items_of_group() == 0 || shape.items_of_group() > launch_shape::max_items)
    throw usage_error(
        fmt::format("kernel '{}' cannot be launched in groups of {} items, which are {}: a group has 1 to "
                    "{}; use more groups of fewer items",
                    k.name, text_of(shape.group), shape.items_of_group(), launch_shape::max_items));
  if (k.fixed_group.x != 0 && k.fixed_group != shape.group)
    throw usage_error(
        fmt::format("kernel '{}' cannot be launched in groups of {} items: it is written for {}; pass that", k.name,
                    text_of(shape.group), text_of(k.fixed_group)));
  for (std::size_t d = 0; d < 3; ++d)
    if (std::size_t{shape.groups[d]} * shape.group[d] > INT_MAX)
      throw usage_error(
          fmt::format("kernel '{}' cannot be launched with {} groups of {} items: ids are of type int, so "
                      "no dimension has more than {} items; use another dimension, or several items for "
                      "each work-item",
                      k.name, text_of(shape.groups), text_of(shape.group), INT_MAX));
}

void run_on_cpu(const kernel_source& k, const launch_shape& shape, void* const* arguments, std::size_t first_group,
                std::size_t last_group) {
  constexpr std::size_t aligned = 64;
  slab_block memory;
  cpu_group g{};
  if (shape.shared_bytes != 0) {
    std::size_t room = shape.shared_bytes + aligned;
    memory.reset(static_cast<std::byte*>(slab::allocate(room)));
    g.shared = memory.get();
    g.shared = std::align(aligned, shape.shared_bytes, g.shared, room);
  }
  for (int d = 0; d < 3; ++d) {
    g.num[d] = static_cast<int>(shape.groups[static_cast<std::size_t>(d)]);
    g.items[d] = static_cast<int>(shape.group[static_cast<std::size_t>(d)]);
  }
  const cpu_function run = k.late == nullptr ? k.on_cpu.best() : k.late->on_cpu();
  const std::size_t nx = shape.groups[0], ny = shape.groups[1];
  for (std::size_t i = first_group; i < last_group; ++i) {
    g.ids[0] = static_cast<int>(i % nx);
    g.ids[1] = static_cast<int>(i / nx % ny);
    g.ids[2] = static_cast<int>(i / (nx * ny));
    run(g, arguments);
  }
  detail::streamed_is_visible();
}

void launch(stream& s, const kernel_source& k, const launch_shape& shape, void* const* arguments) {
  check_launch(k, shape);
  const auto not_built = [&](const char* what, const char* remedy) {
    return usage_error(fmt::format("kernel '{}' was not built for {}, but {} is of such a device: {}", k.name, what,
                                   s.label(), remedy));
  };
  if (s.is_simulated()) [[unlikely]] {
    using operation = detail::function_operation<host_launch>;
    return s.launched(k.name, shape, operation::make(k.name, true, host_launch{&k, shape, copy_of(k, arguments)}));
  }
  switch (s.on().kind()) {
    case device_kind::host: s.call(k.name, host_launch{&k, shape, copy_of(k, arguments)}); return;
    case device_kind::cuda:
      if (k.late != nullptr) return k.late->launch_on_cuda(s, shape, arguments);
      if (k.on_cuda == nullptr)
        throw not_built("CUDA", "name its file in imbrex_add_kernel_files, of a project that has enabled CUDA");
      k.on_cuda(s, shape, arguments);
      return;
    case device_kind::opencl:
      if (k.opencl_text == nullptr) throw not_built("OpenCL", "write it with the macros of kernel_dialect.h");
#if IMBREX_HAVE_OPENCL
      detail::launch_opencl_kernel(s, k, shape, arguments);
#endif
      return;
  }
}

}  // namespace imbrex

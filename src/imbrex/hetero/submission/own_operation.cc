#include "imbrex/hetero/submission/own_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/hetero/hetero_data.h"
#include "imbrex/hetero/open_reduction.h"
#include "imbrex/hetero/submission/combining.h"
#include "imbrex/hetero/submission/hetero_object.h"
#include "imbrex/hetero/submission/untyped_reduction.h"

namespace imbrex {

namespace {

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

void repeat_on_host(std::span<const std::byte> pattern, std::byte* to, std::size_t bytes) {
  std::size_t done = std::min(pattern.size(), bytes);
  std::copy_n(pattern.data(), done, to);
  for (; done < bytes; done += std::min(done, bytes - done)) std::copy_n(to, std::min(done, bytes - done), to + done);
}

template <class Word>
void repeat_on_device(stream& s, std::span<const std::byte> pattern, std::byte* to, std::size_t bytes) {
  Word word = 0;
  std::memcpy(&word, pattern.data(), sizeof word);
  detail::fill_on(s, word, reinterpret_cast<Word*>(to), bytes / sizeof word);
}

/// Where a part can be filled: devices know words.
std::uint8_t identity_runs_on(std::span<const std::byte> pattern) {
  const bool known = is_zero(pattern) || pattern.size() == sizeof(int) || pattern.size() == sizeof(long);
  return known ? untyped_combining_runs_on() : task_node::on_the_host;
}

/// As `detail::reduction`, of bytes.
class own_reduction final : public open_reduction {
 public:
  own_reduction(hetero_data& into, std::shared_ptr<const own_operation> op, std::size_t width)
      : open_reduction(into.domain->reductions(), into), domain_(*into.domain), op_(std::move(op)), width_(width) {}

  bool is_of(const own_operation& op, std::size_t width) const { return width == width_ && op_->is(op); }
  hetero_data& next_part() {
    const std::size_t i = turn_++ % width_;
    if (i == parts_.size()) {
      parts_.emplace_back(domain_, object().bytes);
      submit_untyped(domain_, {.name = "identity"}, identity_runs_on(op_->identity()),
                     {{parts_.back().data(), access_mode::write}}, untyped_identity(op_, object().bytes));
    }
    return *parts_[i].data();
  }

  void close(int priority) override {
    for (std::size_t step = 1; step < parts_.size(); step *= 2) {
      for (std::size_t i = 0; i + step < parts_.size(); i += 2 * step) {
        combine(*parts_[i].data(), *parts_[i + step].data(), priority);
      }
    }
    if (domain_.will_be_written(object())) {
      combine(object(), *parts_[0].data(), priority);
    } else {
      submit_untyped(domain_, {.name = "combine", .priority = priority}, untyped_combining_runs_on(),
                     {{&object(), access_mode::write}, {parts_[0].data(), access_mode::read}},
                     untyped_taking(object().bytes));
    }
  }

 private:
  void combine(hetero_data& into, hetero_data& from, int priority) {
    submit_untyped(domain_, {.name = "combine", .priority = priority}, op_->runs_on(),
                   {{&into, access_mode::read_write}, {&from, access_mode::read}}, op_->combining(object().bytes));
  }

  hetero_domain& domain_;
  const std::shared_ptr<const own_operation> op_;
  const std::size_t width_;
  std::size_t turn_ = 0;
  std::vector<hetero_object<std::byte>> parts_;
};

void check_identity(const own_operation& op, const hetero_data& into) {
  const std::size_t bytes = op.identity().size();
  if (bytes > 0 && into.bytes % bytes == 0) return;
  throw usage_error(
      fmt::format("a task reduces into an object of {} bytes by an operation whose identity has {}: the object is a "
                  "number of these",
                  into.bytes, bytes));
}

void check_combining_kernel(const kernel_source& k, std::size_t bytes) {
  using kind = kernel_argument::kind;
  const auto& a = k.arguments;
  const bool fits = a.size() == 3 && a[0].what == kind::value && a[0].bytes == sizeof(int) &&
                    a[1].what == kind::read_write && a[2].what == kind::read && a[1].bytes == a[2].bytes &&
                    a[1].bytes > 0;
  if (!fits || k.fixed_group.x != 0) {
    throw usage_error(
        fmt::format("kernel '{}' combines no parts: that is one of (int n, T* into, const T* from), for groups of any "
                    "size",
                    k.name));
  }
  if (bytes % a[1].bytes != 0) {
    throw usage_error(
        fmt::format("kernel '{}' combines elements of {} bytes, and the object has {}", k.name, a[1].bytes, bytes));
  }
}

}  // namespace

untyped_use untyped_reduce(hetero_data& into, std::shared_ptr<const own_operation> op, std::size_t parts) {
  if (executor::current() != &into.domain->pe()) {
    throw usage_error(
        "a task shall reduce into an object, but is submitted by another task, or on another PE than the object's: "
        "submit it there");
  }
  if (parts == 0) throw usage_error("a task reduces into 0 parts: a reduction has at least one part");
  check_identity(*op, into);
  auto* open = dynamic_cast<own_reduction*>(into.reducing);
  if (open == nullptr || !open->is_of(*op, parts)) {
    if (into.reducing != nullptr) hetero_domain::close_reduction(into, 0);
    open = new own_reduction(into, std::move(op), parts);
    into.reducing = open;
  }
  return {&open->next_part(), access_mode::read_write, &into};
}

std::function<void(const untyped_call&)> untyped_identity(std::shared_ptr<const own_operation> op, std::size_t bytes) {
  return [op = std::move(op), bytes](const untyped_call& c) {
    const std::span<const std::byte> pattern = op->identity();
    std::byte* const to = c.objects[0];
    if (c.order == nullptr) return repeat_on_host(pattern, to, bytes);
    if (bytes == 0) return;
    if (is_zero(pattern)) return c.order->fill(to, 0, bytes);
    pattern.size() == sizeof(int) ? repeat_on_device<int>(*c.order, pattern, to, bytes)
                                  : repeat_on_device<long>(*c.order, pattern, to, bytes);
  };
}

std::function<void(const untyped_call&)> combining_by(const kernel_source& k, std::size_t bytes) {
  check_combining_kernel(k, bytes);
  return [&k, element = k.arguments[1].bytes, bytes](const untyped_call& c) {
    detail::in_pieces(bytes / element, [&](std::size_t at, int some) {
      std::byte* into = c.objects[0] + at * element;
      const std::byte* from = c.objects[1] + at * element;
      void* places[] = {&some, static_cast<void*>(&into), static_cast<void*>(&from)};
      const launch_shape shape = launch_shape::over(static_cast<std::size_t>(some));
      c.order != nullptr ? launch(*c.order, k, shape, places) : run_on_cpu(k, shape, places, 0, shape.num_groups());
    });
  };
}

}  // namespace imbrex

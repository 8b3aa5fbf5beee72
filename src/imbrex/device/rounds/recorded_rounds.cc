#include "imbrex/device/rounds/recorded_rounds.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "imbrex/device/stream.h"

namespace imbrex {

kept_operation& stream_rounds::add(kept_operation::kind what, const char* name) {
  kept_operation& op = operations.emplace_back();
  op.what = what;
  op.name = name;
  op.first_argument = arguments.size();
  return op;
}

void stream_rounds::add_argument(kept_operation& kernel, const void* value, std::size_t size) {
  constexpr std::size_t aligned = 16;
  const std::size_t at = (bytes.size() + aligned - 1) / aligned * aligned;
  bytes.resize(at + size);
  std::memcpy(bytes.data() + at, value, size);
  arguments.push_back({at, size});
  ++kernel.num_arguments;
}

void stream_rounds::add_before(event e) {
  if (num_rounds() > 1) waits_in_later_rounds = true;
  before.push_back(std::move(e));
}

std::size_t stream_rounds::round_of(std::size_t place) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(round_ends, place) - round_ends.begin());
}

stream_rounds& recorded_rounds::add(const stream& s) {
  const std::lock_guard lock(mutex_);
  if (!counted_) ++num_recording;
  counted_ = true;
  streams_.push_back(std::make_unique<stream_rounds>(s, streams_.size()));
  return *streams_.back();
}

void recorded_rounds::add_value(const value& v) {
  const std::lock_guard lock(mutex_);
  values_.push_back(v);
}

std::vector<recorded_rounds::value> recorded_rounds::values() {
  const std::lock_guard lock(mutex_);
  std::ranges::sort(values_, {}, &value::number);
  return values_;
}

void recorded_rounds::end() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(counted_, false)) --num_recording;
  streams_.clear();  // points may be kept for long
  is_over_.store(true, std::memory_order_release);
}

namespace {

bool same_arguments(const stream_rounds& s, const kept_operation& a, const kept_operation& b) {
  if (a.num_arguments != b.num_arguments) return false;
  for (std::size_t i = 0; i < a.num_arguments; ++i) {
    const kept_argument &x = s.arguments[a.first_argument + i], &y = s.arguments[b.first_argument + i];
    if (x.bytes != y.bytes || std::memcmp(s.bytes.data() + x.at, s.bytes.data() + y.at, x.bytes) != 0) return false;
  }
  return true;
}

/// Empty: the same.
std::string difference(const stream_rounds& s, const kept_operation& a, const kept_operation& b) {
  const bool same_shape = a.shape.groups == b.shape.groups && a.shape.group == b.shape.group &&
                          a.shape.shared_bytes == b.shape.shared_bytes;
  if (a.what != b.what || a.function != b.function) return fmt::format("'{}' and '{}'", a.name, b.name);
  if (!same_shape) return fmt::format("'{}' of another shape", a.name);
  if (!same_arguments(s, a, b)) return fmt::format("'{}' with other arguments", a.name);
  if (a.to != b.to || a.from != b.from || a.bytes != b.bytes || a.value != b.value)
    return fmt::format("a {} of other memory", a.name);
  return {};
}

/// Without waits: before the first rounds there were others, which were not recorded.
std::vector<const kept_operation*> work_of(const stream_rounds& s, std::size_t round) {
  std::vector<const kept_operation*> all;
  for (std::size_t i = s.begin_of(round); i < s.end_of(round); ++i) {
    if (s.operations[i].what != kept_operation::kind::wait) all.push_back(&s.operations[i]);
  }
  return all;
}

std::string difference(const stream_rounds& s, std::size_t earlier, std::size_t later) {
  const auto a = work_of(s, earlier), b = work_of(s, later);
  if (a.size() != b.size()) return fmt::format("{} operations and {}", a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::string d = difference(s, *a[i], *b[i]); !d.empty()) return d;
  }
  return {};
}

}  // namespace

std::string recorded_rounds::why_not_repeated() const {
  for (const auto& s : streams_) {
    const auto why = [&](const std::string& what) { return fmt::format("{}: {}", s->of->label(), what); };
    const std::size_t n = s->num_rounds();
    if (n != streams_.front()->num_rounds()) return why("it has another number of rounds");
    if (s->waits_in_later_rounds) return why("it waits for streams that are not of the chares that repeat rounds");
    for (std::size_t r = 0; r + 2 < n; ++r) {
      const std::string d = difference(*s, r, r + 2);
      if (!d.empty()) return why(fmt::format("rounds {} and {} differ: {}", r, r + 2, d));
    }
  }
  return {};
}

}  // namespace imbrex

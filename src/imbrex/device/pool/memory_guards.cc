#include "imbrex/device/pool/memory_guards.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "imbrex/async/activity.h"
#include "imbrex/async/executor.h"
#include "imbrex/base/log.h"
#include "imbrex/device/device.h"

namespace imbrex {

namespace {

constexpr unsigned char no_number = 0xff;
constexpr std::size_t largest_piece = std::size_t{4} << 20;

/// Unlike what programs write: no byte is as the next one.
template <std::size_t Size>
constexpr std::array<unsigned char, Size> pattern = [] {
  std::array<unsigned char, Size> bytes{};
  for (std::size_t i = 0; i < Size; ++i) bytes[i] = static_cast<unsigned char>(0x5c ^ (i * 37));
  return bytes;
}();

void move(device& d, void* to, const void* from, std::size_t bytes, memory_kind kind) {
  if (bytes == 0) return;
  if (kind == memory_kind::host) {
    std::memcpy(to, from, bytes);
  } else {
    d.read_now(to, from, bytes, event());
  }
}

void fill_with_no_numbers(device& d, void* memory, std::size_t bytes, memory_kind kind) {
  if (kind == memory_kind::host) {
    if (bytes > 0) std::memset(memory, no_number, bytes);
    return;
  }
  const std::vector<unsigned char> piece(std::min(bytes, largest_piece), no_number);
  for (std::size_t at = 0; at < bytes; at += piece.size())
    move(d, static_cast<std::byte*>(memory) + at, piece.data(), std::min(piece.size(), bytes - at), kind);
}

/// Where bytes differ from the pattern: how many, and the first.
struct damage {
  std::size_t count = 0, first = 0;
};
template <std::size_t Size>
damage damage_in(const std::array<unsigned char, Size>& seen) {
  damage d;
  for (std::size_t i = 0; i < Size; ++i) {
    if (seen[i] == pattern<Size>[i]) continue;
    if (d.count++ == 0) d.first = i;
  }
  return d;
}

std::string counted(std::size_t bytes) { return bytes == 1 ? "1 byte" : fmt::format("{} bytes", bytes); }

}  // namespace

void* memory_guards::put(device& d, void* raw, std::size_t bytes, memory_kind kind) {
  auto* const memory = static_cast<std::byte*>(raw) + guard_bytes;
  move(d, raw, pattern<guard_bytes>.data(), guard_bytes, kind);
  move(d, memory + bytes, pattern<guard_bytes>.data(), guard_bytes, kind);
  fill_with_no_numbers(d, memory, bytes, kind);
  const executor* const pe = executor::current();
  const std::lock_guard lock(mutex_);
  parts_.insert_or_assign(memory, part{bytes, kind, pe != nullptr ? name_of_doer(*pe) : "the program"});
  return memory;
}

void* memory_guards::take_off(device& d, void* memory) noexcept {
  auto* const first = static_cast<std::byte*>(memory);
  try {
    std::unique_lock lock(mutex_);
    const auto at = parts_.find(memory);
    if (at == parts_.end()) {
      lock.unlock();
      tell(fmt::format("{} was freed on {}, but is not in use there: free it once, where it came from",
                       fmt::ptr(memory), d.name()));
    } else {
      const part p = std::move(at->second);
      parts_.erase(at);
      lock.unlock();
      look_at(d, first, p);
      fill_with_no_numbers(d, memory, p.bytes, p.kind);
    }
  } catch (const std::exception& e) {  // the device has failed: that is told of elsewhere
    log_debug(fmt::format("memory on {} was not checked when it was freed: {}", d.name(), e.what()));
  }
  return first - guard_bytes;
}

void memory_guards::look_at(device& d, const std::byte* first, const part& p) {
  std::array<unsigned char, guard_bytes> before{}, behind{};
  move(d, before.data(), first - guard_bytes, guard_bytes, p.kind);
  move(d, behind.data(), first + p.bytes, guard_bytes, p.kind);
  const std::string whose =
      fmt::format("{} of {} memory on {}, which {} had", counted(p.bytes), to_string(p.kind), d.name(), p.owner);
  if (const damage at_end = damage_in(behind); at_end.count > 0) {
    tell(
        fmt::format("{}, were written beyond their end: {} changed from byte {} on, as was seen when they were freed; "
                    "some view, loop or kernel goes too far",
                    whose, counted(at_end.count), p.bytes + at_end.first));
  } else if (const damage in_front = damage_in(before); in_front.count > 0) {
    tell(
        fmt::format("{}, were written in front of their beginning: {} changed from {} before it on, as was seen when "
                    "they were freed; some index is negative",
                    whose, counted(in_front.count), counted(guard_bytes - in_front.first)));
  }
}

void memory_guards::tell(const std::string& what) noexcept {
  damaged_.store(true, std::memory_order_relaxed);
  try {
    if (executor* const pe = executor::current(); pe != nullptr) {
      pe->fail(what);
    } else {
      log_error(what);
    }
  } catch (const std::exception&) {  // no memory to say it: the exit code does
  }
}

}  // namespace imbrex

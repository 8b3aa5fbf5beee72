#pragma once

#include <cstdint>
#include <unordered_map>

#include "imbrex/comm/message.h"

namespace imbrex {

/// Brings the messages of one pair of PEs into the order in which they were sent, by the number that each carries: a
/// small one may arrive while a large one before it is still being fetched. Owns what came too early.
class ucx_order {
 public:
  /// Numbers are counted modulo this.
  static constexpr std::uint32_t modulus = 1U << 24;

  static void set_number(wire_header& h, std::uint32_t number) {
    h.turn[0] = static_cast<std::uint8_t>(number);
    h.turn[1] = static_cast<std::uint8_t>(number >> 8);
    h.turn[2] = static_cast<std::uint8_t>(number >> 16);
  }
  static std::uint32_t number_of(const wire_header& h) {
    return h.turn[0] | static_cast<std::uint32_t>(h.turn[1]) << 8 | static_cast<std::uint32_t>(h.turn[2]) << 16;
  }

  ucx_order() = default;
  ucx_order(ucx_order&&) noexcept = default;
  ~ucx_order() {
    for (const auto& [number, m] : early_) wire_message::destroy(m);
  }

  /// Takes `m`, which is whole; calls `deliver` for it and those that waited for it, in order. False, and `m` stays the
  /// caller's, when a message of that number has been here before.
  template <class Deliver>
  bool arrive(wire_message* m, Deliver deliver) {
    const std::uint32_t number = number_of(m->header);
    if (number != due_) [[unlikely]]
      return (number - due_) % modulus < modulus / 2 && early_.emplace(number, m).second;
    due_ = (due_ + 1) % modulus;
    deliver(m);
    while (!early_.empty()) {
      const auto found = early_.find(due_);
      if (found == early_.end()) break;
      wire_message* following = found->second;
      early_.erase(found);
      due_ = (due_ + 1) % modulus;
      deliver(following);
    }
    return true;
  }

 private:
  std::uint32_t due_ = 0;
  std::unordered_map<std::uint32_t, wire_message*> early_;
};

}  // namespace imbrex

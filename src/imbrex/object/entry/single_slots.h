#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "imbrex/object/entry/index.h"

namespace imbrex {

/// The records of singletons that were named by their home: each has a slot from then on until it has ended, so that
/// what is not in its slot has ended. The name is the number of the slot and how often that has been used: found
/// without a hash, and never given twice. A record is made of its index, which it shows as `index`. For the PE's
/// thread; records stay where they are.
template <class Record>
class single_slots {
 public:
  single_slots() = default;
  single_slots(const single_slots&) = delete;
  single_slots& operator=(const single_slots&) = delete;
  ~single_slots() {
    for_each([](Record& e) { e.~Record(); });
  }

  /// Names are other than those up to `last`, of a job before; before the first is given.
  void name_after(std::uint64_t last) { first_use_ = static_cast<std::uint32_t>(last >> use_shift) + 1; }
  /// Whether such a name may have been given here.
  bool may_have_named(std::uint64_t count) const { return count >> use_shift >= first_use_; }

  /// A new record for a singleton of PE `home`.
  Record& take(pe_id home) {
    if (first_free_ == none) add_page();
    const std::uint32_t number = first_free_;
    slot& s = at(number);
    first_free_ = s.next_free;
    s.taken = true;
    return *new (s.memory) Record(no_index{home, home, std::uint64_t{++s.uses} << use_shift | number});
  }
  /// The record of that name; null: it has ended.
  Record* find(std::uint64_t count) const {
    const auto number = static_cast<std::uint32_t>(count);
    if (number / page_size >= pages_.size()) return nullptr;
    slot& s = at(number);
    return s.taken && s.uses == count >> use_shift ? s.get() : nullptr;
  }
  void give_back(Record& e) {
    const auto number = static_cast<std::uint32_t>(e.index.count);
    e.~Record();
    slot& s = at(number);
    s.taken = false;
    if (s.uses == UINT32_MAX) return;  // all its names have been given
    s.next_free = first_free_;
    first_free_ = number;
  }

  /// Of all names that have been given, or more.
  std::uint64_t largest_name() const {
    std::uint64_t n = 0;
    for (std::uint32_t i = 0; i < pages_.size() * page_size; ++i) {
      if (at(i).uses >= first_use_ && at(i).uses > n) n = at(i).uses;
    }
    return n == 0 ? 0 : n << use_shift | UINT32_MAX;
  }
  template <class F>
  void for_each(F f) const {
    for (std::uint32_t i = 0; i < pages_.size() * page_size; ++i) {
      if (at(i).taken) f(*at(i).get());
    }
  }

 private:
  static constexpr unsigned use_shift = 32;
  static constexpr std::uint32_t page_size = 64;
  static constexpr std::uint32_t none = UINT32_MAX;

  struct slot {
    alignas(Record) std::byte memory[sizeof(Record)];
    std::uint32_t uses;
    std::uint32_t next_free;
    bool taken = false;

    Record* get() { return std::launder(reinterpret_cast<Record*>(memory)); }
  };

  slot& at(std::uint32_t number) const { return pages_[number / page_size][number % page_size]; }
  [[gnu::noinline]] void add_page() {
    const auto first = static_cast<std::uint32_t>(pages_.size() * page_size);
    pages_.push_back(std::make_unique<slot[]>(page_size));
    for (std::uint32_t i = page_size; i-- > 0;) {
      slot& s = pages_.back()[i];
      s.uses = first_use_ - 1;
      s.next_free = first_free_;
      first_free_ = first + i;
    }
  }

  std::vector<std::unique_ptr<slot[]>> pages_;
  std::uint32_t first_free_ = none;
  std::uint32_t first_use_ = 1;
};

}  // namespace imbrex

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace imbrex {

/// A table of pointers, all null at first: in one piece when it is small; else in pages, each of which exists once
/// something in it is asked for, so that a PE pays for the part of a large array that it has to do with. The pointers
/// are the owner's.
template <class T>
class record_table {
 public:
  void resize(std::uint64_t size) {
    if (size <= largest_flat) {
      flat_.resize(size, nullptr);
    } else {
      pages_.resize((size + page_size - 1) / page_size);
    }
  }
  /// The first slot of a table in one piece; null for one in pages.
  T** flat() { return flat_.empty() ? nullptr : flat_.data(); }

  T*& slot(std::uint64_t place) {
    if (!flat_.empty()) return flat_[place];
    std::unique_ptr<T*[]>& page = pages_[place / page_size];
    if (page == nullptr) page = std::make_unique<T*[]>(page_size);
    return page[place % page_size];
  }

  /// Calls `f` for each pointer that is not null.
  template <class F>
  void for_each(F f) const {
    for (T* p : flat_) {
      if (p != nullptr) f(p);
    }
    for (const auto& page : pages_) {
      for (std::size_t i = 0; page != nullptr && i < page_size; ++i) {
        if (page[i] != nullptr) f(page[i]);
      }
    }
  }

 private:
  static constexpr std::uint64_t largest_flat = std::uint64_t{1} << 20;
  static constexpr std::size_t page_size = 1024;

  std::vector<T*> flat_;
  std::vector<std::unique_ptr<T*[]>> pages_;
};

}  // namespace imbrex

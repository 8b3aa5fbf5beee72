#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "imbrex/base/ids.h"

namespace imbrex {

/// A number for each PE, 0 at first unless told otherwise. Takes memory for those PEs and their neighbours that were
/// ever named, not for all of a large job.
class pe_numbers {
 public:
  std::uint64_t& of(pe_id pe) {
    const auto p = static_cast<std::size_t>(pe);
    if (p / page_size >= pages_.size()) pages_.resize(p / page_size + 1);
    auto& page = pages_[p / page_size];
    if (page == nullptr) [[unlikely]]
      page = make_page();
    return (*page)[p % page_size];
  }
  /// The same, of one that may never have been named.
  std::uint64_t known(pe_id pe) const {
    const auto p = static_cast<std::size_t>(pe);
    if (p / page_size >= pages_.size() || pages_[p / page_size] == nullptr) return first_;
    return (*pages_[p / page_size])[p % page_size];
  }
  /// All that were not named are `n`; before the first one is.
  void start_after(std::uint64_t n) { first_ = n; }
  std::uint64_t largest() const {
    std::uint64_t n = first_;
    for (const auto& page : pages_) {
      if (page != nullptr) n = std::max(n, *std::max_element(page->begin(), page->end()));
    }
    return n;
  }

 private:
  static constexpr std::size_t page_size = 64;
  std::unique_ptr<std::array<std::uint64_t, page_size>> make_page() const {
    auto page = std::make_unique<std::array<std::uint64_t, page_size>>();
    page->fill(first_);
    return page;
  }

  std::uint64_t first_ = 0;
  std::vector<std::unique_ptr<std::array<std::uint64_t, page_size>>> pages_;
};

}  // namespace imbrex

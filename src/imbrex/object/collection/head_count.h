#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "imbrex/pe/reply.h"

namespace imbrex {

class collection;
struct element_base;

/// The elements that came to be or ended on one PE while the program ran, told to the array's root in batches: one is
/// under way at a time, so a PE that inserts a million elements asks the root a few thousand times. The root answers
/// from which reduction on the new ones take part; until then messages to them are held.
class head_count {
 public:
  explicit head_count(collection& array) : array_(array) {}

  /// `e` is about to be constructed: it does not run before it is counted.
  void expect(element_base& e);
  /// `e` exists; `who` is answered once it is counted.
  void born(element_base& e, const reply_to& who);
  /// An element ended before contributing to reduction `first_missing`.
  void died(std::uint32_t first_missing);
  /// The root has counted those that it was told of last: they take part from reduction `first` on.
  void counted(std::uint32_t first);
  /// How many are here but not counted yet.
  std::size_t num_uncounted() const { return born_.size(); }

 private:
  struct newborn {
    element_base* e;
    reply_to who;
  };
  void tell();

  collection& array_;
  std::vector<newborn> born_;
  std::vector<std::uint32_t> died_;
  std::size_t told_ = 0;
  bool telling_ = false;
};

/// What an element contributes in its constructor, before it is counted.
class early_contribution {
 public:
  early_contribution() = default;
  early_contribution(const early_contribution&) = delete;
  early_contribution& operator=(const early_contribution&) = delete;
  virtual ~early_contribution() = default;
  /// Now, as reduction `number`.
  virtual void contribute(collection& array, std::uint32_t number) = 0;
};

}  // namespace imbrex

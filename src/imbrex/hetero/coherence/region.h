#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "imbrex/hetero/coherence/box.h"

namespace imbrex {

/// Bytes of an object, with a value: boxes that do not overlap. What was said last of a byte holds. Steps grow with the
/// number of boxes; those of equal value that are one box together become one.
template <class Value>
class region_map {
 public:
  struct piece {
    box where;
    Value value;
  };

  bool empty() const { return pieces_.empty(); }
  const std::vector<piece>& pieces() const { return pieces_; }

  void set(box where, Value value) {
    erase(where);
    for (std::size_t i = 0; i < pieces_.size();) {
      if (pieces_[i].value == value && join(where, pieces_[i].where)) {
        remove(i);
        i = 0;
      } else {
        ++i;
      }
    }
    pieces_.push_back({where, std::move(value)});
  }
  /// Nothing is said of these bytes any more.
  void erase(const box& hole) {
    for (std::size_t i = pieces_.size(); i-- > 0;) {
      if (!overlap(pieces_[i].where, hole)) continue;
      const piece was = std::move(pieces_[i]);
      remove(i);
      for_each_outside(was.where, hole, [&](const box& left) { pieces_.push_back({left, was.value}); });
    }
  }
  void clear() { pieces_.clear(); }

  /// The value of any of these bytes; null: nothing is said of them.
  const Value* find(const box& in) const {
    for (const piece& p : pieces_) {
      if (overlap(p.where, in)) return &p.value;
    }
    return nullptr;
  }

 private:
  void remove(std::size_t i) {
    if (i + 1 != pieces_.size()) pieces_[i] = std::move(pieces_.back());
    pieces_.pop_back();
  }
  std::vector<piece> pieces_;
};

/// Bytes of an object.
class region {
 public:
  region() = default;
  explicit region(const box& b) { add(b); }

  bool empty() const { return boxes_.empty(); }
  void add(const box& b) { boxes_.set(b, true); }
  void subtract(const box& b) { boxes_.erase(b); }
  void clear() { boxes_.clear(); }
  bool covers(const box& b) const {
    std::uint64_t bytes = 0;
    for_each_in(b, [&](const box& piece) { bytes += piece.bytes(); });
    return bytes == b.bytes();
  }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& p : boxes_.pieces()) sum += p.where.bytes();
    return sum;
  }
  /// Calls `f` for each box, or its part in `b`.
  template <class F>
  void for_each(F f) const {
    for (const auto& p : boxes_.pieces()) f(p.where);
  }
  template <class F>
  void for_each_in(const box& b, F f) const {
    for (const auto& p : boxes_.pieces()) {
      if (overlap(p.where, b)) f(intersection(p.where, b));
    }
  }
  /// What is in both.
  region in(const region& other) const {
    region both;
    for_each([&](const box& b) { other.for_each_in(b, [&](const box& piece) { both.add(piece); }); });
    return both;
  }
  void subtract(const region& other) {
    other.for_each([&](const box& b) { subtract(b); });
  }

 private:
  struct always {
    constexpr always(bool) {}  // NOLINT(google-explicit-constructor)
    friend constexpr bool operator==(always, always) { return true; }
  };
  region_map<always> boxes_;
};

}  // namespace imbrex

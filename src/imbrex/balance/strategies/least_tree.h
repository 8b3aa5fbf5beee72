#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace imbrex::detail {

/// Slots with a key each; knows the slot of the least key, the first of several, at any time. A tournament: to change a
/// key takes as many comparisons as the number of slots has binary digits, mostly fewer.
class least_tree {
 public:
  explicit least_tree(std::size_t num_slots = 0) {
    while (size_ < num_slots) size_ *= 2;
    keys_.assign(size_, std::numeric_limits<double>::infinity());
    room_.assign(2 * size_, 0);
    winner_.resize(2 * size_);
    for (std::size_t i = 0; i < size_; ++i) winner_[size_ + i] = static_cast<int>(i);
    for (std::size_t i = size_ - 1; i > 0; --i) winner_[i] = winner_[2 * i];
  }

  int least() const { return winner_[1]; }
  double key(int slot) const { return keys_[static_cast<std::size_t>(slot)]; }

  void set(int slot, double key) {
    keys_[static_cast<std::size_t>(slot)] = key;
    for (std::size_t i = (size_ + static_cast<std::size_t>(slot)) / 2; i > 0; i /= 2) {
      const int left = winner_[2 * i];
      const int right = winner_[2 * i + 1];
      const int better = this->key(right) < this->key(left) ? right : left;
      // Nothing changes above where another had won and wins still.
      if (better == winner_[i] && better != slot) return;
      winner_[i] = better;
    }
  }
  void set_room(int slot, std::uint64_t room) {
    std::size_t i = size_ + static_cast<std::size_t>(slot);
    room_[i] = room;
    for (i /= 2; i > 0; i /= 2) room_[i] = room_[2 * i] > room_[2 * i + 1] ? room_[2 * i] : room_[2 * i + 1];
  }

  /// The slot of the least key among those with so much room, or -1.
  int least_with_room(std::uint64_t needed) const {
    int best = -1;
    search(1, needed, best);
    return best;
  }

 private:
  void search(std::size_t node, std::uint64_t needed, int& best) const {
    const double bound = key(winner_[node]);
    if (room_[node] < needed || bound == std::numeric_limits<double>::infinity()) return;
    if (best >= 0 && bound >= key(best)) return;
    if (node >= size_) {
      best = winner_[node];
      return;
    }
    const bool right_first = key(winner_[2 * node + 1]) < key(winner_[2 * node]);
    search(2 * node + (right_first ? 1 : 0), needed, best);
    search(2 * node + (right_first ? 0 : 1), needed, best);
  }

  std::size_t size_ = 1;  // a power of two
  std::vector<double> keys_;
  std::vector<int> winner_;  // by node; node 1 is the root, `size_` + slot a leaf
  std::vector<std::uint64_t> room_;
};

}  // namespace imbrex::detail

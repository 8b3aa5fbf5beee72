#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace imbrex {

/// What one PE has counted, for quiescence and deadlocks.
struct pe_counts {
  std::uint64_t created = 0;
  std::uint64_t processed = 0;
  std::uint64_t pending = 0;
  std::uint64_t held = 0;     ///< messages for elements that do not exist, and tasks behind views that are held
  std::uint64_t refused = 0;  ///< those that were answered with an error because nothing else could happen
  std::uint64_t waiting = 0;  ///< coroutines that have not ended, reductions that lack contributions
  std::uint64_t failed = 0;   ///< failures of tasks that nobody has seen

  pe_counts& operator+=(const pe_counts& c) {
    created += c.created;
    processed += c.processed;
    pending += c.pending;
    held += c.held;
    refused += c.refused;
    waiting += c.waiting;
    failed += c.failed;
    return *this;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & created & processed & pending & held & refused & waiting & failed;
  }
};

/// The counts of a PE that is idle, where others can read them without waking it. Its PE publishes them and withdraws
/// them before it does anything that could change them; both are in one order with all others' (sequentially
/// consistent), so that what is read held when it was read. In a line of its own.
class alignas(64) idle_counts {
 public:
  /// \name The PE whose they are
  ///@{
  bool published() const { return (epoch_.load(std::memory_order_relaxed) & 1) != 0; }
  void publish(const pe_counts& c) {
    const std::array<std::uint64_t, num> all{c.created, c.processed, c.pending, c.held, c.refused, c.waiting, c.failed};
    // Released: whoever reads one of these sees the epoch that ended before.
    for (std::size_t i = 0; i < num; ++i) counts_[i].store(all[i], std::memory_order_release);
    epoch_.store(epoch_.load(std::memory_order_relaxed) + 1);
  }
  void withdraw() { epoch_.store(epoch_.load(std::memory_order_relaxed) + 1); }
  ///@}

  /// Any thread: the counts, and when they were published, for `still`. Nothing unless the PE is idle and has said so.
  struct reading {
    pe_counts counts;
    std::uint64_t epoch;
  };
  std::optional<reading> read() const {
    const std::uint64_t before = epoch_.load();
    if ((before & 1) == 0) return {};
    std::array<std::uint64_t, num> all{};
    for (std::size_t i = 0; i < num; ++i) all[i] = counts_[i].load(std::memory_order_acquire);
    if (epoch_.load() != before) return {};
    return reading{{all[0], all[1], all[2], all[3], all[4], all[5], all[6]}, before};
  }
  /// Any thread: whether the PE has been idle since.
  bool still(std::uint64_t epoch) const { return epoch_.load() == epoch; }

 private:
  static constexpr std::size_t num = 7;
  std::atomic<std::uint64_t> epoch_{0};  // odd while they are published
  std::array<std::atomic<std::uint64_t>, num> counts_{};
};

}  // namespace imbrex

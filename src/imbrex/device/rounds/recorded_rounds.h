#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "imbrex/device/event.h"
#include "imbrex/device/kernel/launch_shape.h"

namespace imbrex {

class stream;

/// One operation that was kept instead of being done.
struct kept_operation {
  enum class kind { kernel, copy, fill, wait };
  kind what = kind::kernel;
  const char* name = "";
  // A kernel: `num_arguments` from the stream's `arguments`.
  const void* function = nullptr;
  launch_shape shape;
  std::size_t first_argument = 0, num_arguments = 0;
  std::size_t batch_bytes = 0;  ///< its only argument is a `kernel_batch` of so many bytes for each; 0: it is not
  // A copy or a fill.
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
  unsigned char value = 0;
  // A wait: for what stands before this place in that stream.
  std::size_t stream = 0, place = 0;
};

/// Where a kernel's argument lies among the bytes of all.
struct kept_argument {
  std::size_t at = 0, bytes = 0;
};

/// What one stream was given in several rounds. For the stream's PE while it records.
class stream_rounds {
 public:
  stream_rounds(const stream& s, std::size_t n) : of(&s), number(n) {}

  kept_operation& add(kept_operation::kind what, const char* name);
  /// Of the kernel that was added last.
  void add_argument(kept_operation& kernel, const void* value, std::size_t size);
  void end_round() { round_ends.push_back(operations.size()); }
  /// It comes after a point that was not recorded.
  void add_before(event e);

  std::size_t num_rounds() const { return round_ends.size(); }
  std::size_t begin_of(std::size_t round) const { return round == 0 ? 0 : round_ends[round - 1]; }
  std::size_t end_of(std::size_t round) const { return round_ends[round]; }
  /// In which round an operation stands.
  std::size_t round_of(std::size_t place) const;

  const stream* const of;
  const std::size_t number;
  std::vector<kept_operation> operations;
  std::vector<std::size_t> round_ends;
  std::vector<kept_argument> arguments;
  std::vector<std::byte> bytes;
  std::vector<event> before;  ///< what all rounds come after
  bool waits_in_later_rounds = false;
};

/// Rounds of several streams, on any devices and PEs of the process, whose operations were kept: what stands in which
/// stream, and which of them wait for which. They are done when all have been recorded, in one go and as often as
/// wanted (`device::graph_of_rounds`).
class recorded_rounds {
 public:
  recorded_rounds() = default;
  ~recorded_rounds() { end(); }
  recorded_rounds(const recorded_rounds&) = delete;
  recorded_rounds& operator=(const recorded_rounds&) = delete;

  /// One more stream; any thread.
  stream_rounds& add(const stream& s);
  /// All that was recorded has been done, and what was repeated: points in it are complete from now on. What was
  /// recorded is given up.
  void end();
  bool is_over() const { return is_over_.load(std::memory_order_acquire); }
  /// Whether some are being recorded in this process.
  static bool any() { return num_recording.load(std::memory_order_relaxed) != 0; }

  /// What one of those whose rounds are recorded finds in each: `bytes` at `at`, memory of a device. They are looked at
  /// in the order of their numbers.
  struct value {
    std::uint64_t number = 0;
    const void* at = nullptr;
    std::size_t bytes = 0;
  };
  /// Any thread.
  void add_value(const value& v);
  /// In order, when all have been added.
  std::vector<value> values();

  /// The last two rounds may follow one another again and again: those before did the same with the same arguments.
  /// Empty: they may; else why not. Of at least four rounds.
  std::string why_not_repeated() const;

  const std::vector<std::unique_ptr<stream_rounds>>& streams() const { return streams_; }

 private:
  static inline std::atomic<int> num_recording{0};
  std::mutex mutex_;
  std::vector<std::unique_ptr<stream_rounds>> streams_;
  std::vector<value> values_;
  std::atomic<bool> is_over_{false};
  bool counted_ = false;
};

/// A point in a stream that records.
struct recorded_point final : event_state {
  recorded_point(std::shared_ptr<const recorded_rounds> r, const stream_rounds& s, stream_position p)
      : event_state(p), all(std::move(r)), stream(s.number), place(s.operations.size()) {}
  bool complete() const override { return all->is_over(); }

  const std::shared_ptr<const recorded_rounds> all;
  const std::size_t stream, place;
};

}  // namespace imbrex

#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "imbrex/base/ids.h"
#include "imbrex/comm/message.h"

namespace imbrex {

class executor;
class transport;

namespace detail {
template <auto M>
struct named_entry {};
}  // namespace detail

/// A list of entry methods, such as a chare's `using aggregated = imbrex::entries<&block::note>;`, behind the methods:
/// messages of these to another rank travel several together. That raises how many small ones pass in a second, and
/// delays each by up to `message_bundles::most_delay_ns`, or until its PE has nothing else to do.
template <auto... M>
struct entries {
  template <auto N>
  static constexpr bool contain = (false || ... || std::is_same_v<detail::named_entry<M>, detail::named_entry<N>>);
};

/// The small messages of one PE that wait to travel together, by the PE they are for and their priority. What is for a
/// PE with some priority is performed there in the order in which it was sent, other messages included. For the PE's
/// thread.
class message_bundles {
 public:
  static constexpr std::int64_t most_delay_ns = 20'000;
  /// Larger messages travel by themselves.
  static constexpr std::uint64_t most_bytes = 1024;

  message_bundles(const executor& pe, transport* t, pe_id from, int pes_per_rank)
      : pe_(pe), transport_(t), from_(from), pes_per_rank_(pes_per_rank) {}
  ~message_bundles() { discard(); }
  message_bundles(const message_bundles&) = delete;
  message_bundles& operator=(const message_bundles&) = delete;

  bool any() const { return !open_.empty(); }
  /// Room for the payload of one more message, of at most `most_bytes`, whose header is given.
  std::byte* add(const wire_header& h);
  /// Sends what waits for that PE; for all; for all that has waited long enough.
  void flush(pe_id to);
  void flush();
  void flush_old();
  /// The job has ended.
  void discard();

 private:
  struct bundle {
    pe_id to;
    std::int8_t level;  ///< priority of all in it
    wire_message* message;
    std::uint64_t used;
    std::int64_t opened_at;  ///< ns
  };
  bundle& open_for(const wire_header& h, std::uint64_t bytes);
  void send(std::size_t i);

  const executor& pe_;
  transport* transport_;
  const pe_id from_;
  const int pes_per_rank_;
  std::vector<bundle> open_;
};

}  // namespace imbrex

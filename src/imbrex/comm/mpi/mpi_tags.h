#pragma once

#include <cstdint>

namespace imbrex {

/// Which tag data apart from messages (`transport::send_data`) go by. An MPI has as few as 32,768; data of one rank to
/// another that share one, both under way, could be taken for each other. So each PE has tags of its own, which it uses
/// in turn: two of its data share one only when `per_pe` others of its were sent in between.
class mpi_tags {
 public:
  static constexpr std::uint64_t counter_bits = 30, pe_bits = 12;
  /// `pes_per_rank` of all ranks.
  mpi_tags(int largest_tag, int pes_per_rank)
      : per_pe_((static_cast<std::uint64_t>(largest_tag) + 1) / (2 * static_cast<std::uint64_t>(pes_per_rank))) {}

  std::uint64_t per_pe() const { return per_pe_; }
  /// Ids are those of `data_mover`: a counter, whether both sides are the host's, the PE that gave it in its rank, and
  /// whether it is an answer: those go the other way, and have tags of their own.
  int of(std::uint64_t id) const {
    const std::uint64_t counter = id & ((std::uint64_t{1} << counter_bits) - 1);
    const std::uint64_t pe = (id >> (counter_bits + 1)) & ((std::uint64_t{1} << pe_bits) - 1);
    const std::uint64_t is_answer = (id >> (counter_bits + 1 + pe_bits)) & 1;
    return static_cast<int>((2 * pe + is_answer) * per_pe_ + counter % per_pe_);
  }

 private:
  std::uint64_t per_pe_;
};

}  // namespace imbrex

#pragma once

#include <cstdint>

/// The small numbers that name things across the job. All are the same on every rank.
namespace imbrex {

/// A PE of the job: one scheduler thread. Ranks hold equal, consecutive runs of them.
using pe_id = std::int32_t;

/// A process of the job.
using rank_id = std::int32_t;

inline constexpr pe_id no_pe = -1;

/// A chare array or group: which PE created it and the how-manieth of that PE it is. Or the singletons of a class.
struct collection_id {
  static constexpr std::uint32_t singles = std::uint32_t{1} << 31;  ///< and the number of the class

  pe_id creator = no_pe;
  std::uint32_t number = 0;

  bool is_of_singles() const { return (number & singles) != 0; }

  friend bool operator==(const collection_id&, const collection_id&) = default;
};

/// Names a subset of an array: who announced it and the how-manieth of that PE it is.
struct section_id {
  pe_id creator = no_pe;
  std::uint32_t number = 0;
  friend bool operator==(const section_id&, const section_id&) = default;
  bool whole_array() const { return creator == no_pe; }
};

}  // namespace imbrex

// What a datatype was made of: the arguments of the routine that made it, with int or large counts.
#pragma once

#include <cstdint>
#include <vector>

#include "base/services.h"

namespace imbrex::sessions::IX_MPI {

struct envelope {
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
  int combiner = MPI_COMBINER_NAMED;
};

envelope envelope_of(MPI_Datatype type);

/// Of a type that is not the MPI's own. Frees the types that it was given.
class datatype_contents {
 public:
  datatype_contents(MPI_Datatype type, const envelope& e);
  ~datatype_contents();
  datatype_contents(const datatype_contents&) = delete;
  datatype_contents& operator=(const datatype_contents&) = delete;

  /// Integers, then addresses, then large counts: but for subarrays the order of the arguments.
  std::int64_t number(std::int64_t i) const { return numbers_[static_cast<std::size_t>(i)]; }
  MPI_Datatype type(std::int64_t i) const { return types_[static_cast<std::size_t>(i)]; }
  bool has_large_counts() const { return has_large_counts_; }

 private:
  std::vector<std::int64_t> numbers_;
  std::vector<MPI_Datatype> types_;
  bool has_large_counts_;
};

}  // namespace imbrex::sessions::IX_MPI

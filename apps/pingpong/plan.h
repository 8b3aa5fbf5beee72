#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "modes.h"

/// What the referee and the players tell each other.
namespace pingpong {

/// What both players do next.
struct plan {
  enum class kind : std::uint8_t { rally, burst, ticks, ticks_together };
  kind what = kind::rally;
  mode by = mode::entry;
  std::uint64_t bytes = 0;
  std::int32_t count = 1;   ///< trips of a rally, rounds of a burst, number of ticks
  std::uint64_t round = 0;  ///< other than 0: the content is that of this round, and checked
};

struct outcome {
  std::int64_t ns = 0;
  std::uint64_t wrong = 0;  ///< bytes, or ticks
};

/// Where a player is and what it has.
struct place {
  std::int32_t pe = 0;
  std::int32_t rank = 0;
  std::int32_t gpu = -1;  ///< its number in the process
  std::string gpu_name;
  bool mpi = false;
  bool mpi_takes_gpu_memory = false;
  bool ucx_takes_gpu_memory = false;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & pe & rank & gpu & gpu_name & mpi & mpi_takes_gpu_memory & ucx_takes_gpu_memory;
  }
};

/// What the players get ready for.
struct equipment {
  std::vector<mode> modes;
  std::uint64_t largest = 8;  ///< bytes
  std::int32_t window = 0;
  std::int32_t chain = 1;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & modes & largest & window & chain;
  }
};

}  // namespace pingpong

// Where the buffers of a session, group, communicator, file or window live, as the program declared it.
#pragma once

#include <cstdint>

namespace imbrex::sessions {

enum class place : std::uint8_t { unknown, host, device };

/// What "host" or "device" is called in messages.
const char* name_of(place where);

struct declaration {
  place sent = place::unknown;      ///< where buffers lie that are read: send, origin of put, written to a file
  place received = place::unknown;  ///< where buffers lie that are filled
  bool from_session = false;        ///< said when the session was made, so its groups may pass it on
  bool is_mixture = false;          ///< said: both kinds, so that what was said before holds no longer

  bool empty() const { return sent == place::unknown && received == place::unknown; }
  bool unsaid() const { return empty() && !is_mixture; }
  bool same_places(const declaration& other) const { return sent == other.sent && received == other.received; }

  /// In one byte, 0 where nothing was said.
  std::uint8_t packed() const {
    return static_cast<std::uint8_t>(static_cast<int>(sent) | static_cast<int>(received) << 2 |
                                     (from_session ? 16 : 0) | (is_mixture ? 32 : 0));
  }
  static declaration unpacked(std::uint8_t bits) {
    return {static_cast<place>(bits & 3), static_cast<place>(bits >> 2 & 3), (bits & 16) != 0, (bits & 32) != 0};
  }
};

inline constexpr const char* pattern_key = "mpi_communication_pattern";
inline constexpr const char* kinds_key = "mpi_memory_alloc_kinds";
inline constexpr const char* assert_kinds_key = "mpi_assert_memory_alloc_kinds";
inline constexpr const char* valid_patterns = "MPI_CPU_TO_CPU, MPI_CPU_TO_GPU, MPI_GPU_TO_CPU or MPI_GPU_TO_GPU";
inline constexpr const char* valid_kinds =
    "system, mpi, mpi:alloc_mem, mpi:win_allocate, mpi:win_allocate_shared, cuda, cuda:device, cuda:host, "
    "cuda:managed, "
    "rocm, rocm:device, rocm:host, rocm:managed, ze, ze:device, ze:host, ze:shared";

/// "MPI_CPU_TO_GPU" and its like (the paper's section 4). False, and `said` as it was, when there is no such pattern.
bool parse_pattern(const char* text, declaration& said);

/// A list of memory kinds (MPI 4.1, section 11.4.3), "system,cuda:device": all on the host, or all on devices, is a
/// declaration for both directions; a mixture is none, and says so. On an unknown kind: false, and its name in
/// `unknown`.
bool parse_kinds(const char* text, declaration& said, char* unknown, unsigned long unknown_size);

/// The pattern's name, or "no pattern" for an empty one and "a mixture" where only one direction is known.
const char* name_of(const declaration& said);

}  // namespace imbrex::sessions

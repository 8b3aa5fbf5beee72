// What the environment asks of the library. Read once, when the first of its functions runs.
#pragma once

#include <cstddef>

#include "base/declaration.h"

namespace imbrex::sessions {

/// Bits of settings::modes; 0 is an idle library.
enum mode : unsigned {
  mode_count = 1,
  mode_inject = 2,
  mode_elide = 4,
  mode_verify = 8,  ///< elide-verify; comes with mode_elide
  mode_stage = 16,
  mode_time = 32,   ///< nothing but the time from MPI_Init to MPI_Finalize
  mode_kinds = 64,  ///< which kinds of memory travel on which communicators
};

struct settings {
  unsigned modes = 0;                 ///< IMBREX_SESSIONS=time,count,kinds,inject,elide,elide-verify,stage
  const char* output = nullptr;       ///< IMBREX_SESSIONS_OUTPUT: the JSON file, or none
  const char* table = "-";            ///< IMBREX_SESSIONS_TABLE: a file, "-" for stderr, "none"
  bool has_delay = false;             ///< IMBREX_SESSIONS_DELAY_NS is set: inject waits instead of asking the driver
  long delay_ns = 0;                  ///< IMBREX_SESSIONS_DELAY_NS
  declaration pattern;                ///< IMBREX_SESSIONS_PATTERN: what holds where the program declares nothing
  std::size_t chunk_bytes = 1 << 20;  ///< IMBREX_SESSIONS_CHUNK_BYTES: pieces in which stage copies
};

/// The settings; errors in them were written to stderr, and what was wrong is as if not given.
const settings& current_settings();

/// The modes as a string, "count,elide"; "idle" for none.
void describe_modes(unsigned modes, char* text, std::size_t size);

/// This process's rank by the variables of its launcher; 0 where there are none. MPI need not have started.
int rank_by_environment();

/// On rank 0, for programs that use an MPI: names what is asked for and goes nowhere.
void complain_of_what_is_lost();

/// One line on stderr, "imbrex sessions: ...".
void complain(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// The same, then the process ends by abort().
[[noreturn]] void give_up(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace imbrex::sessions

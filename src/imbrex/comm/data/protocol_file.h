#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/comm/data/protocol.h"
#include "imbrex/device/memory_kind.h"

/// The file in which `imbrex tune` keeps what it has measured, one entry for each machine and transport:
///
///     {"format": 1,
///      "machines": {"node17": {"mpi": {"host_memory":   {"measured": "...", "packed_host_bytes": 16384},
///                                      "device_memory": {"measured": "...", "packed_device_bytes": 8192, ...}}}}}
///
/// A machine named "any" stands for all that have no entry of their own. What is left out is built in.
namespace imbrex {

/// A size of the table as the file names it, and what is accepted.
struct protocol_value {
  const char* name;
  std::uint64_t protocol_table::* member;
  memory_kind of;  ///< host or device
  std::uint64_t min, max;
};
std::span<const protocol_value> protocol_values();

/// "packed_host_bytes 16384, ...": all sizes.
std::string to_text(const protocol_table& t);

/// This machine's name in the file.
std::string machine_name();

/// Where the file is that `--imbrex-protocols` names: with "auto" `$XDG_CONFIG_HOME/imbrex/protocols.json`, or that
/// below `~/.config`; empty with "none", or when neither variable says where.
std::string protocols_path(const std::string& option);

struct protocol_reading {
  protocol_table table;
  std::string source;                 ///< "built in", or file, transport, machine and date
  std::vector<std::string> warnings;  ///< of a file or values that cannot be used, and what to do
};
/// What the file says of a transport on a machine, else built-in values. Never throws: a file that cannot be used is
/// one warning, and each value that cannot is one. That the user has no file of his own is none.
protocol_reading read_protocols(const std::string& option, const std::string& transport, const std::string& machine);

/// What was measured for one kind of memory.
struct protocol_section {
  memory_kind of = memory_kind::host;  ///< host or device: which values of `points` count
  protocol_table points;
  std::vector<std::pair<std::string, std::string>> notes;  ///< when and with what; written before the values
};
struct protocol_entry {
  std::string machine, transport;
  std::vector<protocol_section> sections;
};
/// Puts the entry's sections in place of those of the same name; all else in the file stays. Makes the folder where it
/// is missing. The file is replaced at once: readers see the old or the new one. Throws `error`, or `usage_error` when
/// what is there is no such file: it is not overwritten.
void store_protocols(const std::string& path, const protocol_entry& entry);

/// Finds out whether `store_protocols` will succeed, as far as one can. Throws as it does.
void check_protocols_storable(const std::string& path);

}  // namespace imbrex

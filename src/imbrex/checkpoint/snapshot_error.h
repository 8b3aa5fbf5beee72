#pragma once

#include <string>

#include "imbrex/base/error.h"

namespace imbrex {

/// What can be wrong with a checkpoint or its disk. docs/checkpoints.md says what to do about each.
enum class snapshot_fault {
  disk_full,         ///< no room, a quota, or a limit on the size of files
  no_permission,     ///< also: a file system that is mounted to be read only
  input_output,      ///< the system failed otherwise
  in_use,            ///< another job writes checkpoints into the same folder
  no_folder,         ///< there is nothing of that name
  not_a_folder,      ///< there is something else of that name
  empty,             ///< a folder with nothing of a checkpoint in it
  missing_file,      ///< the manifest or a rank's file is not there
  torn,              ///< a file is shorter or longer than it was written
  other_version,     ///< a format that this imbrex does not read
  other_byte_order,  ///< written by a machine whose numbers are the other way round
  other_program,     ///< the digest differs
  damaged_manifest,  ///< bytes changed since they were written; so for the next two
  damaged_index,
  damaged_payload,
};

/// "disk full", "torn file", ...
const char* to_string(snapshot_fault fault);

/// A checkpoint cannot be written or read: "<file> <complaint>: <remedy>".
class snapshot_error : public checkpoint_error {
 public:
  /// `complaint`: lowercase, such as "is cut short (...)"; `remedy` may be empty.
  snapshot_error(snapshot_fault fault, std::string file, std::string complaint, std::string remedy = "");

  snapshot_fault fault() const { return fault_; }
  const std::string& file() const { return file_; }
  const std::string& complaint() const { return complaint_; }
  const std::string& remedy() const { return remedy_; }

 private:
  snapshot_fault fault_;
  std::string file_;
  std::string complaint_;
  std::string remedy_;
};

/// Throws what the system's error number means for the file; `failed`: "could not be written", ...
[[noreturn]] void throw_system_fault(int error_number, const std::string& file, const std::string& failed);

}  // namespace imbrex

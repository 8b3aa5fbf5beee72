#pragma once

#include <cstdint>

#include "input/text_file.h"
#include "problem.h"

namespace md {

/// What a data file of LAMMPS says before its sections.
struct lammps_data_head {
  std::int64_t num_atoms = 0, num_types = 0;
  vector3 box_lo{}, box_hi{};
};

/// Goes to the next line with something on it besides a comment; false at the end. `content` is the line without the
/// comment, `comment` what follows its `#`.
bool next_content(line_reader& lines, std::string_view& content, std::string_view& comment);

/// Reads up to the name of the first section, which is `content` and `comment` then; `content` is empty where the file
/// ends. Throws config_error for lines that are unknown, twice there or missing.
lammps_data_head read_lammps_data_head(line_reader& lines, std::string_view& content, std::string_view& comment);

}  // namespace md

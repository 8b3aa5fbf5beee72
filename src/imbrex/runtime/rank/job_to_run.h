#pragma once

#include <string>
#include <vector>

#include "imbrex/runtime/runtime.h"

namespace imbrex::detail {

/// What all runs of a job are given.
struct job_to_run {
  const std::vector<std::string>& arguments;
  const std::string& command_line;
  const main_program& main;
};

}  // namespace imbrex::detail

#pragma once

#include <string>
#include <vector>

/// The words of the command line that are miniMD's, and what of the reference's options there is not.
namespace md {

/// An option of the reference that has no place here.
struct left_out_option {
  const char* names;   ///< as the reference spells them, "-b/--neigh_bins"
  const char* cli;     ///< as CLI11 sees them after `own_arguments`
  const char* reason;  ///< why, and what to do
};

const std::vector<left_out_option>& left_out_options();

/// `apps::own_arguments`. Long names with one dash as the reference has them, -nx, -ny, -nz, -gn, -dm, -ng and -sse,
/// get a second.
std::vector<std::string> own_arguments(int argc, const char* const* argv);

/// What --help says at the end: which options of the reference are left out, with reasons.
std::string help_footer();

}  // namespace md

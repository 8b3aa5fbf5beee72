#include "command_line.h"
#include "support/words/own_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace md {
namespace {

std::string with_two_dashes(std::string_view argument) {
  constexpr std::array<std::string_view, 7> names{"-nx", "-ny", "-nz", "-gn", "-dm", "-ng", "-sse"};
  const bool known = std::ranges::find(names, argument.substr(0, argument.find('='))) != names.end();
  return (known ? "-" : "") + std::string(argument);
}

}  // namespace

const std::vector<left_out_option>& left_out_options() {
  static const std::vector<left_out_option> all{
      {"--teams", "--teams", "PEs are threads already: use --pes"},
      {"-sse", "--sse", "instruction sets are chosen at run time: leave it out"},
      {"-dm/--device_map", "--dm,--device_map", "the runtime maps PEs to GPUs: use --imbrex-gpu-map"},
      {"-ng/--num_gpus", "--ng,--num_gpus", "the runtime knows the GPUs: use --imbrex-gpus"},
      {"--skip_gpu", "--skip_gpu", "the runtime maps PEs to GPUs: use --imbrex-gpus or --imbrex-gpu-map"},
      {"-b/--neigh_bins", "-b,--neigh_bins", "bins follow from the cutoff: leave it out"},
      {"--check_exchange", "--check_exchange", "this check is always on: leave it out"},
      {"--safe_exchange", "--safe_exchange", "this is always on: leave it out"},
      {"--ntypes", "--ntypes", "atoms of all of miniMD's types are alike: leave it out"},
  };
  return all;
}

std::vector<std::string> own_arguments(int argc, const char* const* argv) {
  std::vector<std::string> own = apps::own_arguments(argc, argv);
  for (std::string& word : own) word = with_two_dashes(word);
  return own;
}

std::string help_footer() {
  std::string text = "Of the reference's options these are left out:\n";
  for (const left_out_option& option : left_out_options())
    text += fmt::format("  {:17} {}\n", option.names, option.reason);
  text += "  -d N              devices have no numbers here\n";
  return text + "\nOptions of the runtime start with --imbrex- and are passed over here.";
}

}  // namespace md

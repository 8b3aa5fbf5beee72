#include <fmt/format.h>
#include <imbrex/base/error.h>
#include <imbrex/comm/data/protocol_file.h>
#include <imbrex/runtime/runtime.h>

#include <CLI/App.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "tune_job.h"

namespace {

/// The job's command line: what the user wrote, and what the runtime is to do where the user does not say: GPUs if
/// there are any, one PE for each rank, no file read.
std::vector<std::string> job_words(const imbrex::config& settings, std::vector<std::string> words) {
  if (!settings.is_set("device")) words.emplace_back("--imbrex-device=auto");
  if (!settings.is_set("pes")) words.emplace_back("--imbrex-pes=1");
  if (!settings.is_set("protocols")) words.emplace_back("--imbrex-protocols=none");
  return words;
}

int start(std::vector<std::string> words, const tune::options& o) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& w : words) pointers.push_back(w.data());
  pointers.push_back(nullptr);
  return imbrex::run(static_cast<int>(words.size()), pointers.data(), &tune::measure_protocols, &o);
}

}  // namespace

void add_tune_command(CLI::App& app, const imbrex::config& settings, const std::vector<std::string>& words,
                      std::function<int()>& command) {
  CLI::App* tune = app.add_subcommand(
      "tune", "measure which way data should go between two ranks, for later jobs: mpirun -n 2 imbrex tune");
  const auto options = std::make_shared<tune::options>();
  tune->add_option("--output", options->output,
                   "the file; its other entries stay (default: where jobs look for it, see --imbrex-protocols)");
  tune->add_flag("--quick", options->quick, "fewer sizes and repeats");
  tune->callback([&settings, &words, &command, options] {
    command = [&settings, &words, options] {
      if (options->output.empty()) options->output = imbrex::protocols_path("auto");
      if (options->output.empty())
        throw imbrex::usage_error("neither XDG_CONFIG_HOME nor HOME says where the file goes: give --output FILE");
      return start(job_words(settings, words), *options);
    };
  });
}

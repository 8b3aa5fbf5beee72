#include <fmt/format.h>
#include <imbrex/base/build_config.h>
#include <imbrex/base/error.h>
#include <imbrex/base/log.h>
#include <imbrex/runtime/options/options.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"

namespace {

int fail(const std::string& what, int exit_code) {
  fmt::print(stderr, "imbrex: {}\n", what);
  return exit_code;
}

// What is wrong with the command line, as imbrex words its messages.
std::string complaint(const CLI::ParseError& e, const CLI::App& app, int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  const auto is_that = [&](const CLI::App* c) { return c->get_name() == first; };
  const bool is_command = first.empty() || first.front() == '-' || !app.get_subcommands(is_that).empty();
  if (!is_command) return fmt::format("there is no command '{}'", first);
  std::string text = e.what();
  const bool is_name =
      text.size() > 1 && std::isupper(static_cast<unsigned char>(text[1])) != 0;  // "FOLDER is required"
  if (!text.empty() && !is_name)
    text.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
  return text;
}

/// Of `imbrex run`: takes the command of the job, behind `--`, off the command line: its words are not ours.
std::vector<std::string> take_job(int& argc, char** argv) {
  bool is_run = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    is_run |= word == "run";
    if (word != "--") continue;
    if (!is_run) break;
    std::vector<std::string> job(argv + i + 1, argv + argc);
    argc = i;
    argv[i] = nullptr;
    return job;
  }
  return {};
}

int run(int argc, char** argv) {
  const std::vector<std::string> job = take_job(argc, argv);
  const std::vector<std::string> words(argv, argv + argc);
  const imbrex::config settings = imbrex::read_runtime_config(argc, argv);
  imbrex::set_log_level(imbrex::parse_log_level(settings.text("log")));
  if (settings.get<bool>("help")) {
    fmt::print("{}", imbrex::options_help());
    return 0;
  }

  CLI::App app(
      "imbrex: about this build and this machine, and what of it works here; what a trace says, how fast data go, what "
      "MPI's checks cost, which "
      "checkpoints are whole, how recorded loads could be balanced; the papers' figures; what a program would take "
      "on a machine that is simulated; and jobs that are started again when they fail",
      "imbrex");
  app.set_version_flag("--version", "imbrex " IMBREX_VERSION);
  app.require_subcommand(1);
  std::function<int()> command;
  add_info_command(app, settings, command);
  add_doctor_command(app, words, command);
  add_new_command(app, command);
  add_trace_command(app, command);
  add_tune_command(app, settings, words, command);
  add_mpi_check_command(app, command);
  add_checkpoint_info_command(app, command);
  add_balance_replay_command(app, command);
  add_figures_command(app, command);
  add_machines_command(app, command);
  add_predict_command(app, command);
  add_measure_machine_command(app, settings, words, command);
  add_run_command(app, job, command);
  add_completion_command(app, command);
  add_man_command(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    return fail(fmt::format("{}; see imbrex --help", complaint(e, app, argc, argv)), 2);
  }
  if (!app.got_subcommand("tune") && !app.got_subcommand("measure-machine") &&
      !app.got_subcommand("doctor")) {  // a job warns by itself, once for all ranks
    for (const std::string& warning : settings.warnings()) imbrex::log_warning(warning);
  }
  return command();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const imbrex::error& e) {
    return fail(e.what(), e.exit_code());
  } catch (const std::exception& e) {
    return fail(e.what(), 1);
  }
}

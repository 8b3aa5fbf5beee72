#include <fmt/format.h>
#include <imbrex/base/build_config.h>
#include <imbrex/base/error.h>
#include <imbrex/base/log.h>
#include <imbrex/runtime/options/options.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "command_line.h"
#include "commands.h"

namespace {

int fail(const std::string& what, int exit_code) {
  fmt::print(stderr, "imbrex: {}\n", what);
  return exit_code;
}

/// What was printed may only now meet a full disk. A reader that has gone (`| head`) has all that it wants.
int flushed(int exit_code) {
  errno = 0;
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!failed || errno == EPIPE) return exit_code;
  return fail(
      fmt::format("what was printed could not be written to standard output: {}; give it room, or another place",
                  errno == 0 ? "some of it is missing" : std::strerror(errno)),
      exit_code == 0 ? 1 : exit_code);
}

int run(int argc, char** argv) {
  const std::vector<std::string> job = take_job(argc, argv);
  const std::vector<std::string> words(argv, argv + argc);
  const imbrex::config settings = read_own_options(argc, argv);
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
    return flushed(run(argc, argv));
  } catch (const imbrex::error& e) {
    return fail(e.what(), e.exit_code());
  } catch (const std::system_error& e) {
    if (std::ferror(stdout) != 0) return e.code().value() == EPIPE ? 0 : flushed(1);
    return fail(e.what(), 1);
  } catch (const std::exception& e) {
    return fail(e.what(), 1);
  }
}

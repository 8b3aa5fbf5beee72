// imbrex run: starts a job again from its last checkpoint when it fails.
#include <fmt/format.h>
#include <imbrex/base/error.h>
#include <imbrex/checkpoint/checkpoint_folder.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "child_process.h"
#include "commands.h"

namespace {

struct run_options {
  std::string folder;
  bool restart_on_failure = false;
  int attempts = 10;
};

child_end run_once(std::vector<std::string> words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  if (const int failed = posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ); failed != 0)
    throw imbrex::usage_error(fmt::format("{} could not be started: {}", words.front(), std::strerror(failed)));
  return wait_for_child(pid);
}

std::string folder_named_in(const std::vector<std::string>& words) {
  constexpr std::string_view name = "--imbrex-checkpoint";
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view w = words[i];
    if (!w.starts_with(name)) continue;
    if (w.size() == name.size()) return i + 1 < words.size() ? words[i + 1] : "";
    if (w[name.size()] == '=') return std::string(w.substr(name.size() + 1));
  }
  const char* const from_environment = std::getenv("IMBREX_CHECKPOINT");
  return from_environment != nullptr ? from_environment : "";
}

std::string newest_of(const std::string& folder) {
  try {
    return imbrex::find_latest(folder).path;
  } catch (const imbrex::snapshot_error&) {
    return "";  // it is not there yet; what else is wrong with it the job will say
  }
}

void say(const std::string& what) {
  fmt::print(stderr, "imbrex run: {}\n", what);
  std::fflush(stderr);
}

/// The newest one of which every byte is as it was written: what has changed on the disk is found only by who reads it,
/// and a job that ended by that would end by it again.
std::string newest_undamaged(const std::string& folder) {
  try {
    const imbrex::latest_checkpoint found =
        imbrex::find_latest(folder, {.depth = imbrex::check_depth::payloads, .program = {}});
    for (const imbrex::snapshot_error& e : found.skipped) say(fmt::format("passed over: {}", e.what()));
    return found.path;
  } catch (const imbrex::snapshot_error&) {
    return "";
  }
}

/// A rank that is killed while it reads what PMIx keeps in shared memory holds a lock there, for which mpirun then
/// waits for ever (openpmix/openpmix#1233; 4 of 128 jobs of Open MPI 4.1.4 whose rank was killed in its first half
/// second), and no job would be started again. Processes that keep it each for themselves have no such lock (0 of 163).
void keep_launcher_from_hanging() { setenv("PMIX_MCA_gds", "hash", 0); }

int run(const run_options& o, std::vector<std::string> words) {
  const std::string named = folder_named_in(words);
  const std::string folder = o.folder.empty() ? named : o.folder;
  if (folder.empty()) {
    throw imbrex::usage_error(
        "no folder for checkpoints is known: give --checkpoint FOLDER, or --imbrex-checkpoint=FOLDER to the program");
  }
  if (named.empty()) words.push_back("--imbrex-checkpoint=" + folder);
  words.emplace_back("--imbrex-restart=auto");
  keep_launcher_from_hanging();
  pass_signals_on();
  int in_vain = 0;
  for (int attempt = 1;; ++attempt) {
    const std::string newest = newest_of(folder);
    const std::string from = in_vain > 0 ? newest_undamaged(folder) : newest;
    words.back() = "--imbrex-restart=" + (from == newest || from.empty() ? "auto" : from);
    if (!from.empty()) say(fmt::format("goes on from {}", from));
    const child_end end = run_once(words);
    if (end.code == 0 || end.code == 2 || !o.restart_on_failure) return end.code;  // 2: wrong options
    const std::string how = end.signal != 0 ? fmt::format("was ended by signal {}", end.signal)
                                            : fmt::format("ended with exit code {}", end.code);
    if (told_to_end() != 0) {
      say(fmt::format("the job {}, as it was told to", how));
      return end.code;
    }
    in_vain = newest_of(folder) == newest ? in_vain + 1 : 0;
    if (in_vain >= 3) {
      say(fmt::format("the job {}; that was the third time in a row without a new checkpoint: given up", how));
      return end.code;
    }
    if (attempt >= o.attempts) {
      say(fmt::format("the job {}; that was attempt {} of {}: given up", how, attempt, o.attempts));
      return end.code;
    }
    say(fmt::format("the job {}: attempt {} of {}", how, attempt + 1, o.attempts));
  }
}

}  // namespace

void add_run_command(CLI::App& app, const std::vector<std::string>& job, std::function<int()>& command) {
  CLI::App* run_app = app.add_subcommand(
      "run", "runs a job that makes checkpoints, from its newest one if there is one, and again when it fails");
  run_app->footer(
      "The command of the job stands behind --, for example:\n"
      "  imbrex run --restart-on-failure --checkpoint /scratch/me -- mpirun -n 4 ./heat -n 1000\n\n"
      "Exit code: that of the job. 2: its options, or these, are wrong. The job is given --imbrex-restart=auto, behind "
      "its own words. SIGTERM, SIGINT, SIGUSR1 and SIGHUP are passed on to it. See docs/checkpoints.md.");
  const auto options = std::make_shared<run_options>();
  run_app->add_option("--checkpoint", options->folder,
                      "folder of checkpoints (default: what the command gives as --imbrex-checkpoint)");
  run_app->add_flag("--restart-on-failure", options->restart_on_failure,
                    "start it again while it fails, unless three times in a row no new checkpoint was made");
  run_app->add_option("--attempts", options->attempts, "starts in all")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  run_app->callback([&command, options, &job] {
    if (job.empty()) throw imbrex::usage_error("imbrex run needs a command behind --; see imbrex run --help");
    command = [options, &job] { return run(*options, job); };
  });
}

#include "plot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "imbrex/base/error.h"
#include "support/output_place.h"

extern char** environ;

namespace pingpong {
namespace {

namespace fs = std::filesystem;

/// Beside this program where it was installed, or in the source tree whose build folder it is in.
std::string script_of(const options& o) {
  std::error_code none;
  const fs::path programs = fs::read_symlink("/proc/self/exe", none).parent_path();
  const std::vector<fs::path> places{programs / "../share/imbrex/plot-pingpong",
                                     programs / "../../../scripts/plot-pingpong"};
  for (const fs::path& place : places) {
    if (fs::exists(place, none)) return place.lexically_normal();
  }
  throw imbrex::usage_error(
      fmt::format("--plot {}: there is no {}: leave --plot out, and draw {} by scripts/plot-pingpong", o.plot,
                  places.front().lexically_normal().string(), o.report));
}

/// The script's exit code. `is_trial`: what it prints is dropped, but for errors.
int run_python(const options& o, std::vector<std::string> words, bool is_trial) {
  words.insert(words.begin(), {"python3", script_of(o)});
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (is_trial) posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawnp(&child, pointers[0], &files, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    throw imbrex::usage_error(fmt::format("--plot {}: python3 cannot be started: {}: install it, or leave --plot out",
                                          o.plot, std::strerror(error)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

void check_plot(const options& o) {
  if (o.plot.empty()) return;
  apps::check_output(o.plot);
  if (run_python(o, {"--help"}, true) != 0)
    throw imbrex::usage_error(
        fmt::format("--plot {} cannot be drawn here, for the reason above: install that, or leave --plot out", o.plot));
}

int draw_plot(const options& o) { return run_python(o, {"--output", o.plot, o.report}, false); }

}  // namespace pingpong

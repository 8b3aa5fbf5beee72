#include "plot.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "imbrex/base/error.h"

extern char** environ;

namespace pingpong {

int draw_plot(const options& o) {
  const std::string words[] = {"python3", PINGPONG_PLOT_SCRIPT, "--output", o.plot, o.report};
  char* pointers[6] = {};
  for (int i = 0; i < 5; ++i) pointers[i] = const_cast<char*>(words[i].c_str());
  pid_t child = 0;
  if (const int error = posix_spawnp(&child, pointers[0], nullptr, nullptr, pointers, environ); error != 0) {
    throw imbrex::usage_error(fmt::format("--plot {}: python3 cannot be started: {}: draw it elsewhere by {} {}",
                                          o.plot, std::strerror(error), PINGPONG_PLOT_SCRIPT, o.report));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace pingpong

#include "support/program.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "imbrex/base/error.h"

namespace apps {
namespace {

int code_of(const char* name, const char* remedy, const std::function<int()>& body) {
  try {
    return body();
  } catch (const imbrex::error& e) {
    fmt::print(stderr, "{}: {}\n", name, e.what());
    return e.exit_code();
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "{}: out of memory: {}\n", name, remedy);
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::broken_pipe) fmt::print(stderr, "{}: {}\n", name, e.what());
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}: {}\n", name, e.what());
  }
  return 1;
}

/// Whether the standard output is a pipe whose reader is gone.
bool nobody_reads() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

/// Whether all that was printed has arrived, as far as anybody wants it.
bool output_taken(const char* name) {
  errno = 0;
  const bool failed_before = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !failed_before) return true;
  if (errno == EPIPE || nobody_reads()) return true;  // an earlier failure's reason is not known any more
  fmt::print(stderr, "{}: cannot write to the standard output{}{}: make room, or send it elsewhere\n", name,
             errno == 0 ? "" : ": ", errno == 0 ? "" : std::strerror(errno));
  return false;
}

}  // namespace

int run_program(const char* name, const char* remedy, const std::function<int()>& body) {
  const int code = code_of(name, remedy, body);
  return output_taken(name) || code != 0 ? code : 1;
}

}  // namespace apps

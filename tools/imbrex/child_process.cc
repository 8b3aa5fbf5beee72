#include "child_process.h"

#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <csignal>

namespace {

std::atomic<pid_t> waited_for{0};
std::atomic<int> end_by{0};

extern "C" void pass_on(int signal) {
  if (signal != SIGUSR1) end_by = signal;
  if (const pid_t to = waited_for.load(); to > 0) kill(to, signal);
}

}  // namespace

void pass_signals_on() {
  struct sigaction how = {};
  how.sa_handler = &pass_on;
  how.sa_flags = SA_RESTART;
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1, SIGHUP}) {
    struct sigaction now = {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaction(signal, &how, nullptr);  // nohup: the job ignores it, too
  }
}

int told_to_end() { return end_by; }

child_end wait_for_child(pid_t child) {
  waited_for = child;
  if (const int signal = end_by; signal != 0) kill(child, signal);  // it came while the process was started
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  waited_for = 0;
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

#include "probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <imbrex/imbrex.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "machine/measured_kernel.hk"

namespace doctor {

namespace {

namespace ix = imbrex;
using clock = std::chrono::steady_clock;

constexpr std::size_t most_output = 64 << 10;

/// The environment without what launchers tell their processes: a job that is tried is no part of the one that this is.
std::vector<char*> without_launchers() {
  std::vector<char*> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const auto begins = [text](std::string_view prefix) { return text.starts_with(prefix); };
    constexpr std::string_view prefixes[] = {"PMI",
                                             "SLURM_",
                                             "OMPI_COMM_WORLD_",
                                             "OMPI_UNIVERSE_SIZE",
                                             "OMPI_MCA_ess",
                                             "OMPI_MCA_orte_ess",
                                             "OMPI_MCA_orte_hnp_uri",
                                             "OMPI_MCA_orte_local_daemon_uri"};
    if (std::none_of(std::begin(prefixes), std::end(prefixes), begins)) kept.push_back(*variable);
  }
  kept.push_back(nullptr);
  return kept;
}

/// In a group of its own, so that mpirun's children can be killed with it.
pid_t spawn(const std::vector<std::string>& words, int out) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& w : words) pointers.push_back(const_cast<char*>(w.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::vector<char*> environment = without_launchers();
  pid_t child = 0;
  const int failed = posix_spawnp(&child, pointers[0], &actions, &attributes, pointers.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? child : -1;
}

/// Until all have closed it. False: the time is over.
bool read_all(int from, clock::time_point until, std::string& to) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - clock::now()).count();
    if (left <= 0) return false;
    pollfd wait{from, POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>(left)) <= 0) continue;
    char block[4096];
    const ssize_t n = read(from, block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    if (to.size() < most_output) to.append(block, static_cast<std::size_t>(n));
  }
}

}  // namespace

std::string ending::last_line() const {
  std::string last, line;
  for (const char c : output + "\n") {
    if (c != '\n') {
      line += c;
      continue;
    }
    const std::size_t begin = line.find_first_not_of(" \t\r-*=");
    if (begin != std::string::npos) last = line.substr(begin);
    line.clear();
  }
  return last;
}

ending run_command(const std::vector<std::string>& words, std::chrono::seconds patience) {
  ending e;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return e;
  const pid_t child = spawn(words, ends[1]);
  close(ends[1]);
  if (child > 0) {
    e.started = true;
    e.timed_out = !read_all(ends[0], clock::now() + patience, e.output);
    if (e.timed_out) kill(-child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    e.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  close(ends[0]);
  return e;
}

// ------------------------------------------------------------------------------------------------ the job

namespace {

struct prober : ix::chare<prober, ix::index1d> {
  ix::task<> compute(int term) {
    ix::hetero_object<int> x(1);
    ix::submit({}, [](std::span<int> v, int value) { v[0] = value; }, write(x), term);
    ix::task_options where{.name = "probe"};
    if (rt().kind_of_device() != ix::device_kind::host) where.on = rt().kind_of_device();
    ix::submit(where, measured_kernel, ix::launch_shape::over(1), x);
    auto access = x.host(ix::access_mode::read);
    const auto view = co_await access;
    contribute(view[0], ix::sum);
  }
};

struct wanted {
  int ranks;
  std::string kind;
};

ix::task<int> probe(ix::runtime& rt, const wanted* w) {
  const int pes = rt.num_pes();
  if (rt.num_ranks() != w->ranks) {
    fmt::print("{} ranks were started, and each is a job of {}\n", w->ranks, rt.num_ranks());
    co_return 1;
  }
  auto all = rt.create_array<prober>(pes);
  all.broadcast<&prober::compute>(6);
  const int sum = co_await all.reduction<int>();
  if (sum != 7 * pes) {
    fmt::print("{} PEs have computed {}, which is not {}\n", pes, sum, 7 * pes);
    co_return 1;
  }
  fmt::print("{} PEs of {} ranks\n", pes, rt.num_ranks());
  co_return 0;
}

}  // namespace

int run_probe(int ranks, const std::string& kind, int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  words.push_back("--imbrex-device=" + kind);
  if (kind != "host") words.emplace_back("--imbrex-pes=1");
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& w : words) pointers.push_back(w.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  const wanted w{ranks, kind};
  return ix::run(count, pointers.data(), &probe, &w);
}

}  // namespace doctor

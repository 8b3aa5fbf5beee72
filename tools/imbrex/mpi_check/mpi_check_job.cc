#include "mpi_check_job.h"

#include "child_process.h"
#include "mpi_check_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imbrex/base/clock.h>
#include <imbrex/base/error.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace mpi_check {

namespace fs = std::filesystem;

namespace {

constexpr const char* library_name = "libimbrex_sessions.so";

// Where a build and where an installation have it, seen from this program.
std::string find_library(const std::string& asked) {
  if (!asked.empty()) {
    if (fs::is_regular_file(asked)) return fs::absolute(asked);
    throw imbrex::usage_error(fmt::format("--library {}: there is no such file", asked));
  }
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  for (const char* folder : {"../lib", "../lib64", "../lib/x86_64-linux-gnu", "../lib/aarch64-linux-gnu", "."}) {
    const fs::path candidate = here / folder / library_name;
    if (fs::is_regular_file(candidate)) return fs::canonical(candidate);
  }
  throw imbrex::not_built(fmt::format(
      "{} is not beside this program (looked in ../lib and others from {}): build imbrex where an MPI is found "
      "(libopenmpi-dev or libmpich-dev), or give --library FILE",
      library_name, here.string()));
}

bool is_variable(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
}

// What this command sets itself, and would otherwise be there twice.
bool is_ours(std::string_view entry) {
  return is_variable(entry, "LD_PRELOAD") || is_variable(entry, "IMBREX_SESSIONS") ||
         entry.starts_with("IMBREX_SESSIONS_");
}

// Open MPI hands only its own variables to ranks on other hosts, and those it is told of, but not in two ways.
bool may_tell_openmpi(const std::vector<std::string>& command) {
  return std::ranges::none_of(command, [](const std::string& word) { return word == "-x" || word == "--tune"; }) &&
         std::getenv("OMPI_MCA_mca_base_env_list") == nullptr;
}

pid_t spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
            const std::string& out, const std::string& err) {
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<char*> all;
    all.reserve(texts.size() + 1);
    for (const std::string& t : texts) all.push_back(const_cast<char*>(t.c_str()));
    all.push_back(nullptr);
    return all;
  };
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), flags, 0644);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), flags, 0644);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, command.front().c_str(), &actions, nullptr, pointers(command).data(),
                                  pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) return child;
  throw imbrex::usage_error(
      fmt::format("cannot start {}: {}; give the whole command, as mpirun -n 4 ./program, after --", command.front(),
                  std::strerror(failed)));
}

// This command ends as it was told to, once the run that it waited for has ended, too. What is complete is in files.
void end_where_told() {
  const int signal = told_to_end();
  if (signal == 0) return;
  fmt::print(stderr, "mpi-check: ended by signal {}, which the run was given, too; rounds that are complete are kept\n",
             signal);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

nlohmann::ordered_json read_json(const std::string& path) {
  std::ifstream in(path);
  return nlohmann::ordered_json::parse(in, nullptr, false);
}

}  // namespace

job::job(const options& o) : options_(o), library_(find_library(o.library)) {
  std::error_code failed;
  fs::create_directories(fs::path(o.output) / "runs", failed);
  if (failed) throw imbrex::usage_error(fmt::format("--output {}: {}", o.output, failed.message()));
  if (const program_file p = unreachable_program(o.command, false); !p.path.empty())
    throw imbrex::usage_error(remedy_for(p, library_));
}

std::string job::file(const std::string& name, const std::string& ending) const {
  return fs::absolute(fs::path(options_.output) / "runs" / (name + ending));
}

std::vector<std::string> job::environment(const variant& v, const std::string& report,
                                          const std::optional<long>& delay_ns) const {
  std::vector<std::string> all;
  std::string preload = library_;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (v.modes.empty() || !is_ours(*entry)) all.emplace_back(*entry);
    if (is_variable(*entry, "LD_PRELOAD")) preload += fmt::format(":{}", *entry + std::strlen("LD_PRELOAD="));
  }
  if (v.modes.empty()) return all;
  std::vector<std::string> set = {"LD_PRELOAD=" + preload, "IMBREX_SESSIONS=" + v.modes,
                                  "IMBREX_SESSIONS_OUTPUT=" + report, "IMBREX_SESSIONS_TABLE=none"};
  if (delay_ns && v.modes.find("inject") != std::string::npos)
    set.push_back(fmt::format("IMBREX_SESSIONS_DELAY_NS={}", *delay_ns));
  if (!options_.pattern.empty() && v.modes.find("elide") != std::string::npos)
    set.push_back("IMBREX_SESSIONS_PATTERN=" + options_.pattern);
  if (may_tell_openmpi(options_.command)) {
    std::vector<std::string> names;
    names.reserve(set.size());
    for (const std::string& s : set) names.push_back(s.substr(0, s.find('=')));
    set.push_back(fmt::format("OMPI_MCA_mca_base_env_list={}", fmt::join(names, ";")));
  }
  all.insert(all.end(), set.begin(), set.end());
  return all;
}

run job::start(const variant& v, const std::string& name, const std::optional<long>& delay_ns) const {
  pass_signals_on();
  const std::string report = file(name, ".json");
  fs::remove(report);
  run r;
  const std::int64_t begin = imbrex::now_ns();
  const pid_t child = spawn(options_.command, environment(v, report, delay_ns), file(name, ".out"), file(name, ".err"));
  r.exit_code = wait_for_child(child).code;
  end_where_told();
  r.wall_s = static_cast<double>(imbrex::now_ns() - begin) * 1e-9;
  if (v.modes.empty()) return r;
  r.report = read_json(report);
  if (r.exit_code == 0 && (r.report.is_discarded() || !r.report.contains("seconds"))) {
    if (const program_file p = unreachable_program(options_.command, true); !p.path.empty())
      throw imbrex::usage_error(fmt::format("the run '{}' left no report: {}", name, remedy_for(p, library_)));
    throw imbrex::error(fmt::format(
        "the run '{}' left no report: does the program call MPI_Init and MPI_Finalize, and does its launcher hand the "
        "environment on? Where it does not, tell it to, as mpirun -x LD_PRELOAD -x IMBREX_SESSIONS -x "
        "IMBREX_SESSIONS_OUTPUT -x IMBREX_SESSIONS_DELAY_NS -x IMBREX_SESSIONS_PATTERN; {}",
        name, last_words(name)));
  }
  if (r.exit_code == 0) r.seconds = r.report["seconds"];
  return r;
}

std::string job::last_words(const std::string& name) const {
  const std::string path = file(name, ".err");
  std::ifstream in(path);
  std::deque<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
    if (lines.size() > 5) lines.pop_front();
  }
  if (lines.empty()) return fmt::format("it wrote nothing to {}", path);
  return fmt::format("the end of {}:\n  {}", path, fmt::join(lines, "\n  "));
}

}  // namespace mpi_check

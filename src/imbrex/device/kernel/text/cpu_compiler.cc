#include "imbrex/device/kernel/text/cpu_compiler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "imbrex/base/error.h"
#include "imbrex/base/hash.h"
#include "imbrex/base/log.h"
#include "imbrex/device/kernel/dialect_files.h"

extern "C" char** environ;

namespace imbrex::detail {

namespace {

namespace fs = std::filesystem;

// Without contraction to FMA, so that all devices give the same bits.
constexpr const char* flags[] = {"-std=c++20", "-O3", "-march=native", "-ffp-contract=off", "-fPIC", "-shared", "-w"};

bool is_program(const fs::path& p) { return access(p.c_str(), X_OK) == 0 && !fs::is_directory(p); }

/// Where a program is; empty: nowhere.
std::string found(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : std::string();
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const fs::path p = fs::path(rest.substr(0, end)) / name;
    if (end != 0 && is_program(p)) return p.string();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

/// The words that call a compiler: CXX may be "ccache g++".
std::vector<std::string> found_compiler() {
  const char* const said = std::getenv("CXX");
  std::istringstream all(said != nullptr ? said : "");
  std::vector<std::string> words{std::istream_iterator<std::string>(all), {}};
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (!words.empty()) break;
    if (!found(name).empty()) words = {name};
  }
  if (words.empty() || (words[0] = found(words[0])).empty()) return {};
  return words;
}

fs::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return fs::path(cache) / "imbrex" / "kernels";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return fs::path(home) / ".cache" / "imbrex" / "kernels";
  return {};
}

/// What this machine's CPU can do: `-march=native` makes something of it, and caches are shared between machines.
const std::string& cpu_features() {
  static const std::string features = [] {
    std::ifstream info("/proc/cpuinfo");
    std::string line, result;
    while (std::getline(info, line) && !line.empty()) {  // of the first CPU
      if (line.starts_with("flags") || line.starts_with("Features") || line.starts_with("model name")) result += line;
    }
    return result;
  }();
  return features;
}

/// A folder of its own that is gone at the end.
class work_folder {
 public:
  work_folder() {
    std::error_code failed;
    std::string name = (fs::temp_directory_path(failed) / "imbrex-kernel-XXXXXX").string();
    if (failed || mkdtemp(name.data()) == nullptr) {
      throw error(
          fmt::format("no folder could be made in {} to compile a kernel in: set TMPDIR to one that can be "
                      "written",
                      name));
    }
    path_ = name;
  }
  work_folder(const work_folder&) = delete;
  work_folder& operator=(const work_folder&) = delete;
  ~work_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

void write(const fs::path& file, std::string_view text) {
  fs::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  if (!(out << text).flush()) throw error("could not write " + file.string());
}

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Runs it with both outputs to `log`; the exit code, or -1 when it could not be run.
int run(const std::vector<std::string>& words, const fs::path& log) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Each kernel as a function of C that runs one of its groups, and what all was made from.
std::string source_of(const std::string& text, const std::string& shown, std::uint64_t made_of) {
  return fmt::format(R"(#define IX_CPU_KERNEL(name, group, parameters)                                        \
  IX_CPU_TYPES(name, group, parameters);                                                                      \
  IX_CPU_BODY(name, parameters);                                                                              \
  extern "C" void ix_run_##name(const ::imbrex::cpu_group& g, void* const* arguments) {{                       \
    ::imbrex::detail::group_runner<&ix_body_##name>::run(g, arguments);                                       \
  }}                                                                                                           \
  IX_CPU_BODY(name, parameters)
#define IX_KERNEL_TEXT nullptr
#include "imbrex/device/kernel/kernel_dialect.h"
extern "C" const unsigned long long ix_made_of = {}ULL;
#line 1 "{}"
{}
)",
                     made_of, shown, text);
}

struct made_kernels {
  void* library = nullptr;
  std::vector<cpu_function> functions;
};

/// Null: it is not there, or was made from something else.
made_kernels loaded(const fs::path& file, std::uint64_t made_of, const std::vector<std::string>& kernels) {
  made_kernels m;
  if (access(file.c_str(), R_OK) != 0) return {};
  m.library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (m.library == nullptr) return {};
  const auto* of = static_cast<const std::uint64_t*>(dlsym(m.library, "ix_made_of"));
  for (const std::string& k : kernels)
    m.functions.push_back(reinterpret_cast<cpu_function>(dlsym(m.library, ("ix_run_" + k).c_str())));
  if (of != nullptr && *of == made_of && std::ranges::find(m.functions, nullptr) == m.functions.end()) return m;
  dlclose(m.library);
  return {};
}

const std::vector<std::string>& command() {
  static const std::vector<std::string> words = found_compiler();
  return words;
}

const std::string& version_of_compiler() {
  static const std::string version = [] {
    const work_folder here;
    std::vector<std::string> words = command();
    words.emplace_back("--version");
    run(words, here / "version");
    return read(here / "version");
  }();
  return version;
}

}  // namespace

bool cpu_compiler::is_there() { return !command().empty(); }

std::vector<cpu_function> cpu_compiler::compile(const std::string& text, const std::string& shown,
                                                const std::vector<std::string>& kernels) {
  if (!is_there())
    throw not_built(fmt::format("{} cannot run on the CPU: no C++ compiler was found; {}", shown, remedy));
  const std::string compiler = fmt::format("{}", fmt::join(command(), " "));
  std::string all = compiler + "\n" + version_of_compiler() + "\n" + cpu_features() + "\n" + shown + "\n" + text;
  for (const char* f : flags) all += f;
  for (const dialect_file& f : dialect_files()) all += f.text;
  const std::uint64_t made_of = mix(hash_bytes(all));
  const fs::path folder = cache_folder();
  const fs::path kept = folder.empty() ? fs::path() : folder / fmt::format("{:016x}.so", mix(made_of));
  if (made_kernels m = loaded(kept, made_of, kernels); m.library != nullptr) return m.functions;

  const work_folder here;
  for (const dialect_file& f : dialect_files()) write(here / f.name, f.text);
  write(here / "kernels.cc", source_of(text, shown, made_of));
  std::vector<std::string> words = command();
  words.insert(words.end(), std::begin(flags), std::end(flags));
  words.insert(words.end(),
               {"-I" + (here / "").string(), "-o", (here / "kernels.so").string(), (here / "kernels.cc").string()});
  if (const int code = run(words, here / "log"); code != 0) {
    throw usage_error(fmt::format("{} cannot be compiled for the CPU by {}, which ended with {}:\n{}", shown, compiler,
                                  code, read(here / "log")));
  }
  fs::path made = here / "kernels.so";
  std::error_code failed;
  if (!kept.empty()) {
    // Written aside and renamed: another process sees either nothing or all of it.
    fs::create_directories(folder, failed);
    const fs::path aside = kept.string() + fmt::format(".{}", getpid());
    if (!failed) fs::copy_file(made, aside, fs::copy_options::overwrite_existing, failed);
    if (!failed) fs::rename(aside, kept, failed);
    if (!failed) made = kept;
    if (failed) log_debug(fmt::format("{} is not kept in {}: {}", shown, folder.string(), failed.message()));
  }
  made_kernels m = loaded(made, made_of, kernels);
  if (m.library == nullptr) {
    const char* const why = dlerror();
    throw error(fmt::format("{}, compiled by {}, cannot be loaded: {}", shown, compiler,
                            why != nullptr ? why : "it has not the kernels that its text declares"));
  }
  return m.functions;
}

}  // namespace imbrex::detail

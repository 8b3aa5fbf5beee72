#include "python_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <imbrex/base/error.h>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace fs = std::filesystem;

namespace {

/// Beside an installed imbrex, or beside the sources from which this was built.
fs::path place_of(const std::string& name, const fs::path& programs) {
  const std::vector<fs::path> places{programs / "../share/imbrex" / name, programs / "../../../tools" / name};
  for (const fs::path& p : places) {
    std::error_code none;
    if (fs::exists(p / "__main__.py", none)) return fs::weakly_canonical(p);
  }
  throw imbrex::config_error(fmt::format("its program is neither in {} nor in {}: install imbrex again",
                                         places[0].lexically_normal().string(), places[1].lexically_normal().string()));
}

}  // namespace

int become_python(const std::string& name, const std::vector<std::string>& options) {
  const fs::path programs = fs::read_symlink("/proc/self/exe").parent_path();
  std::vector<std::string> words{"python3", "-B", place_of(name, programs).string(), "--bin", programs.string()};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& w : words) pointers.push_back(w.data());
  pointers.push_back(nullptr);
  execvp("python3", pointers.data());
  throw imbrex::config_error(fmt::format(
      "python3 cannot be started ({}): this command needs it, and matplotlib for pictures", std::strerror(errno)));
}

#include "imbrex/checkpoint/checkpoint_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "imbrex/base/error.h"
#include "imbrex/base/log.h"

namespace imbrex {

namespace {

namespace fs = std::filesystem;

std::string name_of(std::uint64_t number) { return fmt::format("{:06}", number); }
std::string partial_name_of(std::uint64_t number) { return fmt::format(".{:06}.partial", number); }

// Only names that are written just so: others' files stay alone.
std::optional<std::uint64_t> number_of(const std::string& name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || name != name_of(number)) return std::nullopt;
  return number;
}

bool is_partial(const std::string& name) {
  constexpr std::string_view end = ".partial";
  return name.size() > end.size() && name.front() == '.' && name.ends_with(end) &&
         number_of(name.substr(1, name.size() - 1 - end.size()));
}

void check_is_folder(const std::string& path) {
  struct stat facts{};
  if (stat(path.c_str(), &facts) != 0) {
    if (errno != ENOENT) throw_system_fault(errno, path, "could not be read");
    throw snapshot_error(snapshot_fault::no_folder, path, "is not there", "name a folder that is");
  }
  if (!S_ISDIR(facts.st_mode)) {
    throw snapshot_error(snapshot_fault::not_a_folder, path, "is not a folder",
                         "name the folder of a checkpoint, such as checkpoints/000012");
  }
}

std::vector<std::string> names_in(const std::string& folder) {
  check_is_folder(folder);
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  if (error) throw_system_fault(error.value(), folder, "could not be read");
  return names;
}

std::vector<std::uint64_t> numbers_among(const std::vector<std::string>& names) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : names) {
    if (const auto number = number_of(name)) numbers.push_back(*number);
  }
  std::sort(numbers.rbegin(), numbers.rend());
  return numbers;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string restart_with(const std::string& checkpoint) {
  return fmt::format("{0} is whole: restart from {0}", checkpoint);
}

void remove_folder(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) log_warning(fmt::format("{} could not be removed ({}): remove it by hand", path, error.message()));
}

// At no moment does half a checkpoint lie there under its name.
void remove_checkpoint(const std::string& base, std::uint64_t number) {
  const std::string path = checkpoint_path(base, number);
  const std::string partial = partial_path(base, number);
  std::error_code error;
  fs::rename(path, partial, error);
  remove_folder(error ? path : partial);
}

}  // namespace

std::string checkpoint_path(const std::string& base, std::uint64_t number) { return base + '/' + name_of(number); }

std::string partial_path(const std::string& base, std::uint64_t number) { return base + '/' + partial_name_of(number); }

std::vector<std::uint64_t> checkpoint_numbers(const std::string& base) {
  if (struct stat facts{}; stat(base.c_str(), &facts) != 0 && errno == ENOENT) return {};
  return numbers_among(names_in(base));
}

std::vector<listed_checkpoint> list_checkpoints(const std::string& base, const snapshot_checks& checks) {
  std::vector<listed_checkpoint> list;
  for (const std::uint64_t number : numbers_among(names_in(base))) {
    listed_checkpoint& c = list.emplace_back();
    c.path = checkpoint_path(base, number);
    try {
      c.about = read_manifest(c.path);
    } catch (const snapshot_error&) {  // it is the complaint, too
    }
    c.complaint = snapshot_reader::complaint_about(c.path, checks);
  }
  return list;
}

latest_checkpoint find_latest(const std::string& base, const snapshot_checks& checks) {
  latest_checkpoint found;
  for (const std::uint64_t number : numbers_among(names_in(base))) {
    const std::string path = checkpoint_path(base, number);
    auto complaint = snapshot_reader::complaint_about(path, checks);
    if (!complaint) {
      found.path = path;
      break;
    }
    found.skipped.push_back(*std::move(complaint));
  }
  return found;
}

void check_is_checkpoint(const std::string& folder) {
  const std::vector<std::string> names = names_in(folder);
  if (std::find(names.begin(), names.end(), "manifest") != names.end()) return;
  if (!numbers_among(names).empty()) {
    const std::string newest = find_latest(folder).path;
    throw snapshot_error(snapshot_fault::missing_file, folder, "is a folder of checkpoints and none itself",
                         newest.empty() ? "none of them is whole: start from the beginning" : restart_with(newest));
  }
  if (std::any_of(names.begin(), names.end(), [](const std::string& n) { return n.starts_with("rank_"); })) {
    throw snapshot_error(snapshot_fault::missing_file, manifest_path(folder),
                         "is not there, so that the rank's files beside it are no checkpoint");
  }
  throw snapshot_error(snapshot_fault::empty, folder, names.empty() ? "is empty" : "holds nothing of a checkpoint");
}

snapshot_error with_remedy(const snapshot_error& error, const std::string& checkpoint,
                           const std::optional<std::uint64_t>& program) {
  const std::string base = parent_of(checkpoint);
  std::string remedy = error.remedy();
  std::string other;
  try {
    for (const std::uint64_t number : checkpoint_numbers(base)) {
      // As the user wrote it: without ./ in front where there was none.
      const std::string path =
          checkpoint.find('/') == std::string::npos ? name_of(number) : checkpoint_path(base, number);
      if (path == checkpoint || snapshot_reader::complaint_about(path, {check_depth::indexes, program})) continue;
      other = path;
      break;
    }
  } catch (const snapshot_error&) {  // then there is no other that could be read
  }
  if (!other.empty()) {
    remedy += (remedy.empty() ? "" : "; ") + restart_with(other);
  } else if (remedy.empty()) {
    remedy = fmt::format("no other checkpoint in {} is whole: start from the beginning", base);
  }
  return {error.fault(), error.file(), error.complaint(), remedy};
}

void keep_last(const std::string& base, int n) {
  if (n < 1) throw usage_error(fmt::format("{} checkpoints of {} are to be kept: keep 1 at least", n, base));
  int kept = 0;
  for (const std::uint64_t number : checkpoint_numbers(base)) {
    if (kept == n) {
      remove_checkpoint(base, number);
    } else if (!snapshot_reader::complaint_about(checkpoint_path(base, number), {check_depth::sizes, {}})) {
      ++kept;
    }
  }
}

void remove_partial(const std::string& base) {
  for (const std::string& name : names_in(base)) {
    if (is_partial(name)) remove_folder(base + '/' + name);
  }
}

}  // namespace imbrex

#include "imbrex/tuning/tuning_memory.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "imbrex/base/error.h"
#include "imbrex/base/log.h"

namespace imbrex {

namespace {

using json = nlohmann::json;

/// Nothing where the file holds something else.
std::optional<json> entries_of(const std::string& path) {
  std::ifstream in(path);
  if (!in || in.peek() == std::ifstream::traits_type::eof()) return json::array();
  json all = json::parse(in, nullptr, false);
  if (!all.is_object() || !all.contains("found") || !all["found"].is_array()) return std::nullopt;
  return std::move(all["found"]);
}

/// A user's own file is never replaced; where nobody named one, it is this library's.
void complain(const std::string& path) {
  if (path != tuning_memory::path_of("auto"))
    throw config_error(
        fmt::format("--imbrex-tuning={} is no file of what was tuned: name another, or one that is not "
                    "there yet",
                    path));
  log_warning(fmt::format("{} is no file of what was tuned: it is not used, and replaced", path));
}

bool is_of(const json& entry, const tuning_memory::subject& s) {
  const auto same = [&](const char* key, const std::string& value) {
    return entry.contains(key) && entry[key].is_string() && entry[key].get<std::string>() == value;
  };
  return entry.is_object() && same("program", s.program) && same("problem", s.problem) && same("machine", s.machine) &&
         same("parameters", s.parameters);
}

}  // namespace

std::string tuning_memory::path_of(const std::string& option) {
  if (option == "none") return "";
  if (option != "auto") return option;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::string(cache) + "/imbrex/tuning.json";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::string(home) + "/.cache/imbrex/tuning.json";
  return "";
}

std::optional<std::vector<int>> tuning_memory::find(const subject& of) const {
  if (path_.empty()) return std::nullopt;
  const std::optional<json> entries = entries_of(path_);
  if (!entries) complain(path_);
  if (!entries) return std::nullopt;
  for (const json& entry : *entries) {
    if (!is_of(entry, of) || !entry.contains("values")) continue;
    try {
      return entry["values"].get<std::vector<int>>();
    } catch (const json::exception&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

void tuning_memory::keep(const subject& of, const tuning_point& best, double cost) const {
  if (path_.empty()) return;
  json all = json::array();
  std::optional<json> entries = entries_of(path_);
  if (!entries && path_ != path_of("auto")) complain(path_);  // written since
  if (entries) {
    for (json& entry : *entries) {
      if (!is_of(entry, of)) all.push_back(std::move(entry));
    }
  }
  all.push_back({{"program", of.program},
                 {"problem", of.problem},
                 {"machine", of.machine},
                 {"parameters", of.parameters},
                 {"values", best.values()},
                 {"best", best.text()},
                 {"cost", cost}});
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  const std::string aside = fmt::format("{}.{}", path_, getpid());
  std::ofstream out(aside);
  out << json{{"found", std::move(all)}}.dump(1) << '\n';
  out.close();
  if (out) std::filesystem::rename(aside, path_, error);
  if (!out || error)
    log_warning(fmt::format(
        "{} cannot be written: what was tuned is searched for again next time (--imbrex-tuning names another file)",
        path_));
}

}  // namespace imbrex

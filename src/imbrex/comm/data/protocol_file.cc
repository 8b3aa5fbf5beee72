#include "imbrex/comm/data/protocol_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int file_format = 1;  // must never change its meaning: files outlive builds
constexpr std::uint64_t most_packed = std::uint64_t{64} << 20;

constexpr std::array<protocol_value, 5> all_values{{
    {"packed_host_bytes", &protocol_table::packed_host_bytes, memory_kind::host, 0, most_packed},
    {"packed_device_bytes", &protocol_table::packed_device_bytes, memory_kind::device, 0, most_packed},
    {"chunk_bytes", &protocol_table::chunk_bytes, memory_kind::device, 4 << 10, 1 << 30},
    {"staged_device_bytes", &protocol_table::staged_device_bytes, memory_kind::device, 0, protocol_table::always},
    {"unshared_device_bytes", &protocol_table::unshared_device_bytes, memory_kind::device, 0, protocol_table::always},
}};

const char* section_name(memory_kind of) { return of == memory_kind::device ? "device_memory" : "host_memory"; }

// The library puts an identifier in brackets before its words.
std::string words_of(const json::exception& e) {
  const std::string text = e.what();
  const std::size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

// Of a file as a whole. Throws `usage_error` that says what is wrong with it, without its name.
json parse_file(const std::string& path, std::istream& in) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw usage_error("it is a folder");
  json all;
  try {
    all = json::parse(in);
  } catch (const json::exception& e) {
    throw usage_error("it is not JSON: " + words_of(e));
  }
  if (!all.is_object() || !all.contains("format")) throw usage_error("it names no format");
  if (all["format"] != file_format) {
    throw usage_error(fmt::format("its format is {}, this build knows {}", all["format"].dump(), file_format));
  }
  if (!all.contains("machines") || !all["machines"].is_object()) throw usage_error("it has no object 'machines'");
  for (const auto& [machine, transports] : all["machines"].items()) {
    if (!transports.is_object()) throw usage_error(fmt::format("its machine '{}' is no object", machine));
    for (const auto& [transport, sections] : transports.items()) {
      const bool sound =
          sections.is_object() && std::ranges::all_of(sections, [](const json& s) { return s.is_object(); });
      if (!sound)
        throw usage_error(fmt::format("its entry {} of machine '{}' is no object of objects", transport, machine));
    }
  }
  return all;
}

const json* find(const json& in, const std::string& key) {
  const auto found = in.find(key);
  return found == in.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> accepted(const json& given, const protocol_value& v) {
  if (!given.is_number_unsigned()) return std::nullopt;
  const auto n = given.get<std::uint64_t>();
  return n >= v.min && n <= v.max ? std::optional(n) : std::nullopt;
}

void take_values(const json& entry, const std::string& where, protocol_reading& into) {
  for (const protocol_value& v : all_values) {
    const json* section = find(entry, section_name(v.of));
    const json* given = section != nullptr ? find(*section, v.name) : nullptr;
    if (given == nullptr) continue;
    std::uint64_t& value = into.table.*v.member;
    if (const auto n = accepted(*given, v)) {
      value = *n;
    } else {
      into.warnings.push_back(
          fmt::format("{}: {} is {}, not a number of {} to {}: {} is used; correct it or run imbrex tune again", where,
                      v.name, given->dump(), v.min, v.max, value));
    }
  }
}

std::string date_of(const json& entry) {
  for (const json& section : entry) {
    if (const json* date = find(section, "measured"); date != nullptr && date->is_string())
      return ", measured " + date->get<std::string>();
  }
  return "";
}

// Empty when there is no file.
json existing(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return json::object();
  std::ifstream in(path);
  if (!in) throw usage_error(fmt::format("{} cannot be read: {}: give another file", path, std::strerror(errno)));
  try {
    return parse_file(path, in);
  } catch (const usage_error& e) {
    throw usage_error(
        fmt::format("{} cannot be extended: {}: repair or remove it, or give another file", path, e.what()));
  }
}

std::string part_of(const std::string& path) { return fmt::format("{}.{}.part", path, getpid()); }

std::ofstream open_part(const std::string& path) {
  if (fs::is_directory(path)) throw usage_error(fmt::format("{} is a folder: give a file", path));
  std::error_code failed;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, failed);
  std::ofstream out(part_of(path), std::ios::binary | std::ios::trunc);
  if (!out) throw usage_error(fmt::format("{} cannot be written: {}: give another file", path, std::strerror(errno)));
  return out;
}

}  // namespace

std::span<const protocol_value> protocol_values() { return all_values; }

std::string to_text(const protocol_table& t) {
  std::string text;
  for (const protocol_value& v : all_values) {
    const std::uint64_t n = t.*v.member;
    fmt::format_to(std::back_inserter(text), "{}{} {}", text.empty() ? "" : ", ", v.name,
                   n == protocol_table::always ? "always" : std::to_string(n));
  }
  return text;
}

std::string machine_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string protocols_path(const std::string& option) {
  if (option == "none") return "";
  if (option != "auto") return option;
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && *config == '/') return std::string(config) + "/imbrex/protocols.json";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? std::string(home) + "/.config/imbrex/protocols.json" : "";
}

protocol_reading read_protocols(const std::string& option, const std::string& transport, const std::string& machine) {
  protocol_reading r;
  r.source = "built in";
  const std::string path = protocols_path(option);
  if (path.empty()) return r;
  try {
    std::ifstream in(path);
    if (!in) {
      if (option == "auto" && (errno == ENOENT || errno == ENOTDIR)) return r;
      throw usage_error(std::strerror(errno));
    }
    const json all = parse_file(path, in);
    for (const std::string& name : {machine, std::string("any")}) {
      const json* of_machine = find(all["machines"], name);
      const json* entry = of_machine != nullptr ? find(*of_machine, transport) : nullptr;
      if (entry == nullptr) continue;
      r.source = fmt::format("{}, {} on {}{}", path, transport, name, date_of(*entry));
      take_values(*entry, fmt::format("{}, {} on {}", path, transport, name), r);
      return r;
    }
  } catch (const std::exception& e) {
    r.table = protocol_table();
    r.source = "built in";
    r.warnings.push_back(
        fmt::format("{} cannot be used: {}: built-in sizes are; remove it and run imbrex tune again, or say "
                    "--imbrex-protocols=none",
                    path, e.what()));
  }
  return r;
}

void store_protocols(const std::string& path, const protocol_entry& entry) {
  json all = existing(path);
  all["format"] = file_format;
  json& here = all["machines"][entry.machine][entry.transport];
  for (const protocol_section& s : entry.sections) {
    json section = json::object();
    for (const auto& [name, text] : s.notes) section[name] = text;
    for (const protocol_value& v : all_values) {
      if (v.of == s.of) section[v.name] = s.points.*v.member;
    }
    here[section_name(s.of)] = std::move(section);
  }
  std::ofstream out = open_part(path);
  out << all.dump(2) << "\n";
  out.close();
  if (out && std::rename(part_of(path).c_str(), path.c_str()) == 0) return;
  const std::string reason = std::strerror(errno);
  std::remove(part_of(path).c_str());
  throw error(fmt::format("{} could not be written: {}", path, reason));
}

void check_protocols_storable(const std::string& path) {
  static_cast<void>(existing(path));
  open_part(path).close();
  std::remove(part_of(path).c_str());
}

}  // namespace imbrex

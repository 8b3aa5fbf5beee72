#include "imbrex/fields/xdmf_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

constexpr std::string_view mark = "<!-- fields of imbrex -->";

struct number_format {
  const char* type;
  int bytes;
};
number_format format_in_xdmf(field_type t) {
  switch (t) {
    case field_type::float32: return {"Float", 4};
    case field_type::float64: return {"Float", 8};
    case field_type::int32: return {"Int", 4};
    case field_type::int64: return {"Int", 8};
    case field_type::uint8: return {"UChar", 1};
    case field_type::uint32: return {"UInt", 4};
    case field_type::uint64: return {"UInt", 8};
  }
  return {};
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

/// The fields at one time; each line of text names one, in the order of their names.
struct grid {
  std::optional<double> time;
  field_extent cells;
  std::map<std::string, std::string> fields;  // by escaped name
};
using index = std::vector<grid>;

/// What stands between `before` and `after`; empty where that is not there.
std::string_view between(std::string_view line, std::string_view before, std::string_view after) {
  const std::size_t at = line.find(before);
  if (at == std::string_view::npos) return {};
  const std::size_t from = at + before.size(), to = line.find(after, from);
  return to == std::string_view::npos ? std::string_view{} : line.substr(from, to - from);
}

template <class T>
T number_in(std::string_view text) {
  T value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// As `text_of` writes it.
index read_index(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::getline(file, line);
  if (!file || line != mark)
    throw usage_error(fmt::format(
        "cannot use {}: it is there and no index of imbrex's fields; remove it, or name another file", path));
  index all;
  while (std::getline(file, line)) {
    if (line.find("<Grid Name=\"cells\"") != std::string::npos) all.emplace_back();
    if (all.empty()) continue;
    grid& last = all.back();
    if (const auto time = between(line, "<Time Value=\"", "\""); !time.empty()) last.time = number_in<double>(time);
    if (const auto edges = between(line, "Mesh\" Dimensions=\"", "\""); !edges.empty()) {  // z, y, x
      std::array<std::uint64_t, 3> n{};
      const char* at = edges.data();
      for (std::uint64_t& k : n) at = std::from_chars(at, edges.data() + edges.size(), k).ptr + 1;
      last.cells = {n[2] - 1, n[1] - 1, n[0] - 1};
    }
    if (const auto name = between(line, "<Attribute Name=\"", "\""); !name.empty())
      last.fields[std::string(name)] = line;
  }
  return all;
}

std::string text_of(const index& all) {
  std::string text = fmt::format(
      "<?xml version=\"1.0\"?>\n{}\n<Xdmf Version=\"3.0\">\n<Domain>\n<Grid Name=\"times\" GridType=\"Collection\" "
      "CollectionType=\"Temporal\">\n",
      mark);
  for (const grid& g : all) {
    text += "<Grid Name=\"cells\" GridType=\"Uniform\">\n";
    if (g.time) text += fmt::format("<Time Value=\"{}\"/>\n", *g.time);
    text += fmt::format(
        "<Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"{} {} {}\"/>\n<Geometry GeometryType=\"ORIGIN_DXDYDZ\">"
        "<DataItem Format=\"XML\" Dimensions=\"3\">0 0 0</DataItem><DataItem Format=\"XML\" Dimensions=\"3\">1 1 "
        "1</DataItem></Geometry>\n",
        g.cells.nz + 1, g.cells.ny + 1, g.cells.nx + 1);
    for (const auto& [name, line] : g.fields) text += line + "\n";
    text += "</Grid>\n";
  }
  return text + "</Grid>\n</Domain>\n</Xdmf>\n";
}

index read_or_none(const std::string& path) {
  std::error_code none;
  return std::filesystem::exists(path, none) ? read_index(path) : index{};
}

[[noreturn]] void cannot_write(const std::string& path, const std::string& why) {
  throw usage_error(fmt::format("cannot write {}: {}", path, why));
}

}  // namespace

std::string xdmf_data_file(const field_name& name) {
  const std::string stem = name.file.substr(0, name.file.size() - std::string_view(".xdmf").size());
  return name.time ? fmt::format("{}_t{}.h5", stem, *name.time) : stem + ".h5";
}

void check_xdmf(const field_name& name, const field_extent& whole) {
  for (const grid& g : read_or_none(name.file)) {
    if (g.time != name.time || g.cells == whole || g.fields.empty()) continue;
    if (g.fields.size() == 1 && g.fields.contains(escaped(name.dataset))) continue;  // it is replaced
    throw usage_error(fmt::format(
        "cannot write {}: it has {} x {} x {} cells, and other fields there {} x {} x {}; name another file",
        name.text(), whole.nx, whole.ny, whole.nz, g.cells.nx, g.cells.ny, g.cells.nz));
  }
}

void add_to_xdmf(const field_name& name, field_type type, const field_extent& whole) {
  index all = read_or_none(name.file);
  auto at = std::ranges::find_if(all, [&](const grid& g) { return g.time == name.time; });
  if (at == all.end()) {
    at = std::ranges::find_if(all, [&](const grid& g) { return g.time > name.time; });  // without a time: the first
    at = all.insert(at, {name.time, whole, {}});
  }
  at->cells = whole;
  const number_format f = format_in_xdmf(type);
  const std::string data = std::filesystem::path(xdmf_data_file(name)).filename().string();
  const std::string dataset = escaped(name.dataset);
  at->fields[dataset] = fmt::format(
      "<Attribute Name=\"{}\" AttributeType=\"Scalar\" Center=\"Cell\"><DataItem Format=\"HDF\" NumberType=\"{}\" "
      "Precision=\"{}\" Dimensions=\"{} {} {}\">{}:/{}</DataItem></Attribute>",
      dataset, f.type, f.bytes, whole.nz, whole.ny, whole.nx, escaped(data), dataset);
  const std::string next = name.file + ".next";
  std::ofstream file(next, std::ios::trunc);
  file << text_of(all);
  file.close();
  if (!file) cannot_write(name.file, "no room, or no rights");
  std::error_code failed;
  std::filesystem::rename(next, name.file, failed);
  if (failed) cannot_write(name.file, failed.message());
}

field_name find_in_xdmf(const field_name& name) {
  std::error_code none;
  if (!std::filesystem::exists(name.file, none))
    throw usage_error(fmt::format("cannot read {}: there is no such file", name.file));
  const index all = read_index(name.file);
  const std::string dataset = escaped(name.dataset);
  for (auto g = all.rbegin(); g != all.rend(); ++g) {
    if ((name.time && g->time != name.time) || !g->fields.contains(dataset)) continue;
    return {xdmf_data_file({name.file, name.dataset, g->time}), name.dataset, {}};
  }
  throw usage_error(
      fmt::format("cannot read {}: there is no such field{}", name.text(), name.time ? " at that time" : ""));
}

}  // namespace imbrex

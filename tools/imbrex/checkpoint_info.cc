#include <fmt/format.h>
#include <imbrex/base/error.h>
#include <imbrex/checkpoint/checkpoint_folder.h>
#include <imbrex/checkpoint/snapshot_reader.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "commands.h"

namespace {

using imbrex::check_depth;
using imbrex::kind_total;
using imbrex::listed_checkpoint;
using imbrex::snapshot_manifest;
using json = nlohmann::ordered_json;

std::string in_units(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double amount = static_cast<double>(bytes);
  const char* unit = "B";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (amount < 1024) break;
    amount /= 1024;
    unit = next;
  }
  return fmt::format("{:.1f} {}", amount, unit);
}

std::string as_time(std::int64_t seconds) {
  const std::time_t when = seconds;
  std::tm parts{};
  gmtime_r(&when, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

/// Of a folder that a job was to fill, and has not. An empty name is that of nothing.
void check_folder(const std::string& folder) {
  if (folder.empty()) throw imbrex::usage_error("FOLDER is empty: give a folder of checkpoints, or one of them");
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none) || !std::filesystem::is_empty(folder, none)) return;
  throw imbrex::error(
      fmt::format("{} is empty: there is no checkpoint in it; give the folder that --imbrex-checkpoint named", folder));
}

/// The checkpoints that a folder has, or the one that it is. Throws `snapshot_error` where it is neither.
std::vector<listed_checkpoint> look_at(std::string folder, check_depth depth) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  const imbrex::snapshot_checks checks{depth, {}};
  const bool is_one = std::filesystem::exists(imbrex::manifest_path(folder));
  if (!is_one && std::filesystem::is_directory(folder)) {
    std::vector<listed_checkpoint> list = imbrex::list_checkpoints(folder, checks);
    if (!list.empty()) return list;
  }
  if (!is_one) imbrex::snapshot_reader(folder, checks);  // throws, and says what to do instead
  listed_checkpoint one{folder, {}, imbrex::snapshot_reader::complaint_about(folder, checks)};
  try {
    one.about = imbrex::read_manifest(folder);
  } catch (const imbrex::snapshot_error&) {  // it is the complaint, too
  }
  return {one};
}

const listed_checkpoint* newest_whole(const std::vector<listed_checkpoint>& list) {
  const auto found = std::find_if(list.begin(), list.end(), [](const auto& c) { return !c.complaint; });
  return found == list.end() ? nullptr : &*found;
}

void print_line(const listed_checkpoint& c) {
  const char* whole = c.complaint ? "no" : "yes";
  if (c.about) {
    const snapshot_manifest& m = *c.about;
    const imbrex::snapshot_shape& shape = m.facts.shape;
    fmt::print("{:<32} {:<5} {} {:>10} {:>6} {:>5} {:>5} {:>10} {:>11}  {}\n", c.path, whole, as_time(m.written_at),
               m.facts.step, shape.num_ranks, shape.pes_per_rank, shape.gpus_per_rank, m.num_records(),
               in_units(m.bytes()), m.facts.label);
  } else {
    fmt::print("{:<32} {:<5}\n", c.path, whole);
  }
  if (c.complaint) fmt::print("    {}\n", c.complaint->what());
}

void print_kinds(const listed_checkpoint& c) {
  const std::vector<kind_total> kinds = c.about->kinds();
  fmt::print("\n{:<32} {:>10} {:>11}\n", "records of " + c.path, "count", "payload");
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].num_records == 0) continue;
    fmt::print("{:<32} {:>10} {:>11}\n", c.about->kind_name(i), kinds[i].num_records, in_units(kinds[i].payload_bytes));
  }
  fmt::print("\nwritten by the program with digest {:016x}\n", c.about->facts.program);
}

void print_text(const std::vector<listed_checkpoint>& list, check_depth depth) {
  fmt::print("{:<32} {:<5} {:<19} {:>10} {:>6} {:>5} {:>5} {:>10} {:>11}  {}\n", "checkpoint", "whole", "written (UTC)",
             "step", "ranks", "PEs", "GPUs", "records", "size", "label");
  for (const listed_checkpoint& c : list) print_line(c);
  const listed_checkpoint* newest = newest_whole(list);
  if (newest == nullptr) {
    fmt::print("\nnone is whole\n");
    return;
  }
  print_kinds(*newest);
  if (depth != check_depth::payloads) fmt::print("payloads were not read: --verify compares their checksums, too\n");
  fmt::print("restart from {}\n", newest->path);
}

json as_json(const listed_checkpoint& c) {
  json j{{"path", c.path}, {"whole", !c.complaint}};
  if (c.complaint) {
    j["fault"] = imbrex::to_string(c.complaint->fault());
    j["complaint"] = c.complaint->what();
  }
  if (!c.about) return j;
  const snapshot_manifest& m = *c.about;
  j["number"] = m.number;
  j["written_at"] = m.written_at;
  j["step"] = m.facts.step;
  j["label"] = m.facts.label;
  j["program"] = fmt::format("{:016x}", m.facts.program);
  j["ranks"] = m.facts.shape.num_ranks;
  j["pes_per_rank"] = m.facts.shape.pes_per_rank;
  j["gpus_per_rank"] = m.facts.shape.gpus_per_rank;
  j["records"] = m.num_records();
  j["bytes"] = m.bytes();
  const std::vector<kind_total> kinds = m.kinds();
  j["kinds"] = json::array();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    j["kinds"].push_back(
        {{"name", m.kind_name(i)}, {"records", kinds[i].num_records}, {"payload_bytes", kinds[i].payload_bytes}});
  }
  return j;
}

void print_json(const std::vector<listed_checkpoint>& list) {
  const listed_checkpoint* newest = newest_whole(list);
  json all{{"newest_whole", newest == nullptr ? json() : json(newest->path)}, {"checkpoints", json::array()}};
  for (const listed_checkpoint& c : list) all["checkpoints"].push_back(as_json(c));
  fmt::print("{}\n", all.dump(2));
}

struct info_options {
  std::string folder;
  bool verify = false;
  bool json = false;
};

int print_info(const info_options& o) {
  const check_depth depth = o.verify ? check_depth::payloads : check_depth::indexes;
  std::vector<listed_checkpoint> list;
  try {
    check_folder(o.folder);
    list = look_at(o.folder, depth);
  } catch (const imbrex::error& e) {
    if (o.json && e.exit_code() == 1) print_json({});  // for programs, which then have an object in any case
    throw;
  }
  o.json ? print_json(list) : print_text(list, depth);
  return newest_whole(list) == nullptr ? 1 : 0;
}

}  // namespace

void add_checkpoint_info_command(CLI::App& app, std::function<int()>& command) {
  CLI::App* info =
      app.add_subcommand("checkpoint-info",
                         "the checkpoints of a folder: when they were written, of what job, how large they "
                         "are, which are whole");
  info->footer("Exit code 0: one of them is whole. 1: none is, or the folder has none. See docs/checkpoints.md.");
  const auto options = std::make_shared<info_options>();
  info->add_option("FOLDER", options->folder, "a folder of checkpoints, or one of them, such as checkpoints/000012")
      ->required();
  info->add_flag("--verify", options->verify, "read everything and compare checksums: takes as long as a restart");
  info->add_flag("--json", options->json, "as one JSON object");
  info->callback([&command, options] { command = [options] { return print_info(*options); }; });
}

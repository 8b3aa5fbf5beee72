#include "imbrex/balance/balance_record.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

using json = nlohmann::json;

/// What is wrong with a line, without its number.
struct bad_line {
  std::string why;
};

std::string shortened(const json& j) {
  const std::string text = j.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

std::int64_t whole(const json& j, std::string_view key, std::int64_t low, std::int64_t high) {
  if (j.is_number_integer() && j.get<std::int64_t>() >= low && j.get<std::int64_t>() <= high &&
      (!j.is_number_unsigned() || j.get<std::uint64_t>() <= static_cast<std::uint64_t>(high)))
    return j.get<std::int64_t>();
  throw bad_line{fmt::format("{} is {}, not a whole number of {} to {}", key, shortened(j), low, high)};
}

double amount(const json& j, std::string_view key) {
  if (j.is_number() && j.get<double>() >= 0) return j.get<double>();
  throw bad_line{fmt::format("{} is {}, not a number of 0 or more", key, shortened(j))};
}

std::uint64_t bytes(const json& j, std::string_view key) {
  if (j.is_number_unsigned()) return j.get<std::uint64_t>();
  throw bad_line{fmt::format("{} is {}, not a whole number of 0 or more", key, shortened(j))};
}

constexpr std::int64_t most = INT32_MAX;

void take_gpu(const json& line, balance_gpu& g) {
  for (const auto& [key, value] : line.items()) {
    if (key == "rate")
      g.rate = amount(value, key);
    else if (key == "background_seconds")
      g.background_seconds = amount(value, key);
    else if (key == "memory_bytes")
      g.memory_bytes = bytes(value, key);
    else if (key != "gpu")
      throw bad_line{fmt::format("a GPU has no '{}', but rate, background_seconds and memory_bytes", key)};
  }
}

void take_pe(const json& line, balance_pe& pe) {
  for (const auto& [key, value] : line.items()) {
    if (key == "rank")
      pe.rank = static_cast<int>(whole(value, key, 0, most));
    else if (key == "node")
      pe.node = static_cast<int>(whole(value, key, 0, most));
    else if (key == "gpu")
      pe.gpu = static_cast<int>(whole(value, key, no_gpu, most));
    else if (key == "rate")
      pe.rate = amount(value, key);
    else if (key == "background_seconds")
      pe.background_seconds = amount(value, key);
    else if (key != "pe")
      throw bad_line{fmt::format("a PE has no '{}', but rank, node, gpu, rate and background_seconds", key)};
  }
}

void take_place(const json& value, int num_dimensions, std::array<double, 3>& place) {
  if (!value.is_array() || static_cast<int>(value.size()) != num_dimensions)
    throw bad_line{fmt::format("place is {}, not {} coordinates", shortened(value), num_dimensions)};
  for (std::size_t d = 0; d < value.size(); ++d) {
    if (!value[d].is_number()) throw bad_line{fmt::format("place is {}, not numbers", shortened(value))};
    place[d] = value[d].get<double>();
  }
}

void take_exchanges(const json& value, int element, std::size_t num_elements, std::vector<balance_traffic>& all) {
  if (!value.is_array()) throw bad_line{fmt::format("exchanges is {}, not a list of pairs", shortened(value))};
  for (const json& pair : value) {
    if (!pair.is_array() || pair.size() != 2)
      throw bad_line{fmt::format("exchanges has {}, not a pair of partner and bytes", shortened(pair))};
    const auto partner = whole(pair[0], "a partner", 0, static_cast<std::int64_t>(num_elements) - 1);
    all.push_back({element, static_cast<int>(partner), amount(pair[1], "what a pair exchanges")});
  }
}

}  // namespace

struct balance_record_reader::state {
  std::string file;
  std::ifstream in;
  std::size_t number = 0;    // of the line
  std::size_t num_gpus = 0;  // as the head of the record says: nothing is made before it is read
  std::size_t num_pes = 0;
  std::size_t num_elements = 0;

  [[noreturn]] void fail(const std::string& why) const {
    throw config_error(
        fmt::format("{}:{}: {}: correct the line, or record again (the form of the file is explained in "
                    "imbrex/balance/balance_record.h)",
                    file, number, why));
  }

  /// The next line that is not empty; null at the end.
  json line() {
    std::string text;
    while (std::getline(in, text)) {
      ++number;
      if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
      json j = json::parse(text, nullptr, false);
      if (!j.is_object()) fail(fmt::format("'{}' is no JSON object", text.substr(0, 60)));
      return j;
    }
    if (in.bad()) throw config_error(fmt::format("{} cannot be read on after line {}", file, number));
    return nullptr;
  }

  balance_record head(const json& j) {
    const auto version = j.find("imbrex_balance");
    if (version == j.end())
      fail("a record begins with \"imbrex_balance\": 1 and how many gpus, pes and elements follow");
    if (*version != balance_record_version) {
      fail(fmt::format("the record has version {}, this imbrex reads {}", shortened(*version), balance_record_version));
    }
    balance_record r;
    const auto count = [&](const char* key) {
      return static_cast<std::size_t>(whole(j.contains(key) ? j[key] : json(), key, 0, most));
    };
    if (j.contains("program") && j["program"].is_string()) r.program = j["program"].get<std::string>();
    if (j.contains("step")) r.step = whole(j["step"], "step", INT64_MIN, INT64_MAX);
    num_gpus = j.contains("gpus") ? count("gpus") : 0;
    num_pes = count("pes");
    num_elements = count("elements");
    if (j.contains("dimensions"))
      r.problem.num_dimensions = static_cast<int>(whole(j["dimensions"], "dimensions", 1, 3));
    return r;
  }

  /// The next line, which is of the i-th of these.
  json line_of(const char* what, std::size_t i, std::size_t num) {
    json j = line();
    if (j.is_null()) fail(fmt::format("the file ends after {} of the record's {} {}s", i, num, what));
    const auto found = j.find(what);
    const bool is_of_others = j.contains("element") ? what != std::string_view("element")
                                                    : j.contains("pe") && what == std::string_view("gpu");
    if (found == j.end() || *found != i || is_of_others)
      throw bad_line{fmt::format("{} {} of {} should be here, but here is {}", what, i, num, shortened(j))};
    return j;
  }

  void take_element(const json& line, balance_problem& p, std::vector<balance_traffic>& traffic) const {
    const auto number_of_it = static_cast<int>(p.elements.size());
    balance_element& e = p.elements.emplace_back();
    if (p.num_dimensions > 0) p.places.push_back({});
    bool has_place = false;
    for (const auto& [key, value] : line.items()) {
      if (key == "pe")
        e.pe = static_cast<int>(whole(value, key, 0, static_cast<std::int64_t>(p.pes.size()) - 1));
      else if (key == "host_seconds")
        e.host_seconds = amount(value, key);
      else if (key == "gpu_seconds")
        e.gpu_seconds = amount(value, key);
      else if (key == "host_bytes")
        e.host_bytes = bytes(value, key);
      else if (key == "device_bytes")
        e.device_bytes = bytes(value, key);
      else if (key == "move_bytes")
        e.move_bytes = bytes(value, key);
      else if (key == "pinned" && value.is_boolean())
        e.pinned = value.get<bool>();
      else if (key == "exchanges")
        take_exchanges(value, number_of_it, num_elements, traffic);
      else if (key == "place" && !p.places.empty()) {
        take_place(value, p.num_dimensions, p.places.back());
        has_place = true;
      } else if (key != "element") {
        throw bad_line{fmt::format("{} is {}, which an element has not in this record", key, shortened(value))};
      }
    }
    if (!line.contains("pe")) throw bad_line{"the element is on no pe"};
    if (!has_place && !p.places.empty())
      throw bad_line{fmt::format("the element has no place, but the record has {} dimensions", p.num_dimensions)};
  }
};

balance_record_reader::balance_record_reader(const std::string& file) : state_(std::make_unique<state>()) {
  state_->file = file;
  state_->in.open(file, std::ios::binary);
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    throw config_error(fmt::format("{} is a folder: name a file of recorded loads", file));
  if (!state_->in) {
    throw config_error(fmt::format("{} cannot be read: {}: name a file of recorded loads", file, std::strerror(errno)));
  }
}

balance_record_reader::~balance_record_reader() = default;

std::optional<balance_record> balance_record_reader::next() {
  state& s = *state_;
  const json first = s.line();
  if (first.is_null()) return std::nullopt;
  const std::size_t begin = s.number;
  balance_record r;
  try {
    r = s.head(first);
    balance_problem& p = r.problem;
    for (std::size_t i = 0; i < s.num_gpus; ++i) take_gpu(s.line_of("gpu", i, s.num_gpus), p.gpus.emplace_back());
    for (std::size_t i = 0; i < s.num_pes; ++i) take_pe(s.line_of("pe", i, s.num_pes), p.pes.emplace_back());
    std::vector<balance_traffic> traffic;
    for (std::size_t i = 0; i < s.num_elements; ++i)
      s.take_element(s.line_of("element", i, s.num_elements), p, traffic);
    if (!traffic.empty()) p.communication = communication_graph::of(p.elements.size(), traffic);
  } catch (const bad_line& b) {
    s.fail(b.why);
  }
  try {
    check_problem(r.problem);
  } catch (const usage_error& e) {
    s.number = begin;
    s.fail(fmt::format("in the record that begins here {}", e.what()));
  }
  return r;
}

}  // namespace imbrex

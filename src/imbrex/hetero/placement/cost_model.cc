#include "imbrex/hetero/placement/cost_model.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {
constexpr double slow_to_forget = 0.1;

/// Names of the user's choice must not look like another column or line.
std::string one_word(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return text;
}

/// False: the line is none.
bool parse(const std::string& line, cost_model::key& k, cost_model::mean& m) {
  std::istringstream words(line);
  std::int64_t samples = 0;
  if (!(words >> samples >> m.nanoseconds >> k.size) || words.get() != '\t') return false;
  if (!std::getline(words, k.place, '\t') || !std::getline(words, k.name)) return false;
  m.samples = static_cast<std::uint64_t>(samples);
  const bool is_time = std::isfinite(m.nanoseconds) && m.nanoseconds >= 0;
  return samples > 0 && is_time && k.size >= 0 && k.size <= 64 && !k.place.empty() && !k.name.empty();
}
}  // namespace

int cost_model::size_of(const task_node& t) {
  std::uint64_t bytes = 0;
  for (int i = 0; i < t.num_accesses; ++i) bytes += t.accesses[i].data->bytes;
  return static_cast<int>(std::bit_width(bytes));
}

cost_model::key cost_model::key_of(const task_node& t, const place& p) {
  return {t.wishes.name, size_of(t), p.is_host() ? "host" : p.on().name()};
}

void cost_model::learn(const key& k, double nanoseconds) {
  mean& m = known_[k];
  ++m.samples;
  const double weight = std::max(1.0 / static_cast<double>(m.samples), slow_to_forget);
  m.nanoseconds += weight * (nanoseconds - m.nanoseconds);
}

const cost_model::mean* cost_model::find(const key& k) const {
  const auto found = known_.find(k);
  return found == known_.end() ? nullptr : &found->second;
}

double cost_model::estimate(const key& k) const {
  if (const mean* const exact = find(k); exact != nullptr) return exact->nanoseconds;
  // Least squares of log2 t = a + b size; sizes are powers of two.
  double n = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (auto at = known_.lower_bound({k.name, 0, ""}); at != known_.end() && at->first.name == k.name; ++at) {
    if (at->first.place != k.place || at->second.nanoseconds <= 0) continue;
    const double x = at->first.size, y = std::log2(at->second.nanoseconds);
    n += 1;
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  if (n == 0) return -1;
  const double spread = n * sum_xx - sum_x * sum_x;
  const double power = n > 1 ? (n * sum_xy - sum_x * sum_y) / spread : 1;
  return std::exp2((sum_y - power * sum_x) / n + power * k.size);
}

void cost_model::add(const key& k, const mean& m) {
  mean& mine = known_[k];
  mine.samples += m.samples;
  if (mine.samples == 0) return;
  const double weight = static_cast<double>(m.samples) / static_cast<double>(mine.samples);
  mine.nanoseconds += weight * (m.nanoseconds - mine.nanoseconds);
}

std::string cost_model::text() const {
  std::string lines;
  for (const auto& [k, m] : known_) {
    fmt::format_to(std::back_inserter(lines), "{}\t{:.1f}\t{}\t{}\t{}\n", m.samples, m.nanoseconds, k.size,
                   one_word(k.place), one_word(k.name));
  }
  return lines;
}

void cost_model::add_text(std::istream& in, const std::string& from) {
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    key k;
    mean m;
    if (!parse(line, k, m)) {
      throw config_error(
          fmt::format("{}:{}: '{}' is not what a task took (samples, nanoseconds, size, place and name, between tabs): "
                      "delete the line or name another file",
                      from, number, line.substr(0, 60)));
    }
    add(k, m);
  }
}

void cost_model::read(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return;
  std::ifstream in(file);
  if (std::filesystem::is_directory(file, ignored) || !in) {
    throw config_error(fmt::format("{} cannot be read: what tasks took is kept there: name a file", file));
  }
  add_text(in, file);
}

void cost_model::write(const std::string& file) const {
  const std::string fresh = file + ".new";
  std::ofstream out(fresh);
  out << text() << std::flush;
  if (!out || std::rename(fresh.c_str(), file.c_str()) != 0) {
    throw config_error(
        fmt::format("{} cannot be written, where what tasks took is kept: {}", file, std::strerror(errno)));
  }
}

}  // namespace imbrex

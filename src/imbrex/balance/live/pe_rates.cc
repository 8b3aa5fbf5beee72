#include "imbrex/balance/live/pe_rates.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

[[noreturn]] void refuse(const std::string& text) {
  throw config_error(fmt::format(
      "--imbrex-balance-rates={}: give 'measured', 'equal', or how fast each PE is compared with the others, e.g. "
      "1,1,0.5,0.5",
      text));
}

std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> all;
  for (std::string_view rest(text);;) {
    const std::string_view word = rest.substr(0, rest.find(','));
    double number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc{} || end != word.data() + word.size() || !(number > 0) || !std::isfinite(number))
      refuse(text);
    all.push_back(number);
    if (word.size() == rest.size()) return all;
    rest.remove_prefix(word.size() + 1);
  }
}

/// Of this thread alone, so that others that share the core do not count.
std::int64_t own_time_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

pe_rates::pe_rates(const std::string& text, int num_pes) {
  measured_ = text == "measured";
  if (measured_ || text == "equal") return;
  given_ = numbers_in(text);
  if (num_pes > 0 && std::ssize(given_) != num_pes) {
    throw config_error(fmt::format("--imbrex-balance-rates={} has {} numbers, and the job {} PEs: give one for each",
                                   text, given_.size(), num_pes));
  }
}

double measured_speed() {
  constexpr int rounds = 8, sweeps = 40;
  constexpr std::size_t size = 1024;
  std::array<double, size> a{}, b{};
  for (std::size_t i = 0; i < size; ++i) {
    a[i] = 1.0 + static_cast<double>(i) * 1e-3;
    b[i] = 0.5;
  }
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t began = own_time_ns();
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      for (std::size_t i = 1; i + 1 < size; ++i) b[i] = (a[i - 1] + a[i] + a[i + 1]) * 0.333;
      std::swap(a, b);
    }
    const std::int64_t took = own_time_ns() - began;
    if (took > 0) best = std::max(best, static_cast<double>(sweeps * size) / static_cast<double>(took));
  }
  return a[size / 2] > 0 ? best : 0;  // nobody may leave the computation out
}

std::vector<double> rates_of(std::vector<double> speeds, bool are_measured) {
  const double highest = speeds.empty() ? 0 : *std::ranges::max_element(speeds);
  for (double& s : speeds) {
    s = s > 0 && highest > 0 ? s / highest : 1;
    if (!are_measured) continue;
    constexpr double alike = 0.9, steps = 20;
    s = s >= alike ? 1 : std::max(std::round(s * steps), 1.0) / steps;
  }
  return speeds;
}

}  // namespace imbrex

#include "input/text_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "imbrex/base/error.h"

namespace md {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

[[noreturn]] void refuse_file(const std::string& path, int reason) {
  throw imbrex::config_error(
      fmt::format("cannot read {}: {}: give the path of a readable file", path, std::strerror(reason)));
}

/// std::from_chars takes no plus sign.
std::string_view without_plus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

std::string_view expected_real(sign which) {
  if (which == sign::positive) return "a positive number";
  return which == sign::not_negative ? "a number that is not negative" : "a finite number";
}

}  // namespace

text_file read_text_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) refuse_file(path, errno);
  text_file read{path, {}};
  constexpr std::size_t piece = std::size_t{1} << 20;
  for (std::size_t got = 1, size = 0; got > 0; size += got) {
    read.text.resize(size + (size < piece ? piece : size));
    got = std::fread(read.text.data() + size, 1, read.text.size() - size, file.get());
    if (got == 0) read.text.resize(size);
  }
  if (std::ferror(file.get())) refuse_file(path, errno);
  return read;
}

std::optional<double> parse_real(std::string_view text) {
  text = without_plus(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) value = std::strtod(std::string(text).c_str(), nullptr);
  if (error == std::errc::invalid_argument || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_whole(std::string_view text) {
  text = without_plus(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view next_word(std::string_view& rest) {
  std::size_t begin = 0;
  while (begin < rest.size() && is_blank(rest[begin])) ++begin;
  std::size_t end = begin;
  while (end < rest.size() && !is_blank(rest[end])) ++end;
  const std::string_view word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return word;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) words.push_back(word);
  return words;
}

void text_place::refuse(const std::string& what) const {
  throw imbrex::config_error(fmt::format("{}:{}: {}", path, line, what));
}

void text_place::refuse_value(std::string_view name, std::string_view word, std::string_view expected) const {
  if (word.empty()) refuse(fmt::format("{} is missing: {} is expected", name, expected));
  refuse(fmt::format("{} '{}' cannot be used: {} is expected", name, word, expected));
}

double text_place::real(std::string_view word, std::string_view name, sign which) const {
  const auto value = parse_real(word);
  if (!value || (which == sign::positive && *value <= 0) || (which == sign::not_negative && *value < 0))
    refuse_value(name, word, expected_real(which));
  return *value;
}

std::int64_t text_place::whole(std::string_view word, std::string_view name, std::int64_t least) const {
  const auto value = parse_whole(word);
  if (!value || *value < least) refuse_value(name, word, fmt::format("a whole number of at least {}", least));
  return *value;
}

bool line_reader::next() {
  if (rest_.empty()) {
    line_ = {};
    return false;
  }
  const std::size_t end = rest_.find('\n');
  line_ = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  ++place_.line;
  return true;
}

}  // namespace md

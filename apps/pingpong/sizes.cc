#include "sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "imbrex/base/error.h"

namespace pingpong {
namespace {

[[noreturn]] void refuse(std::string_view item, const char* why) {
  throw imbrex::usage_error(fmt::format(
      "--sizes: '{}' {}: give bytes such as 8, 96K or 9M, or a range of doublings such as 8:8M", item, why));
}

int shift_of(char unit) {
  switch (unit) {
    case 'K':
    case 'k': return 10;
    case 'M':
    case 'm': return 20;
    case 'G':
    case 'g': return 30;
    default: return 0;
  }
}

std::uint64_t parse_size(std::string_view text, std::string_view item) {
  const int shift = text.empty() ? 0 : shift_of(text.back());
  const std::string_view digits = shift > 0 ? text.substr(0, text.size() - 1) : text;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) refuse(item, "is no size");
  if (value == 0) refuse(item, "is empty");
  if (value > largest_size >> shift) refuse(item, "is larger than 1G");
  return value << shift;
}

void add_item(std::vector<std::uint64_t>& sizes, std::string_view item) {
  const auto colon = item.find(':');
  const std::uint64_t first = parse_size(item.substr(0, colon), item);
  const std::uint64_t last = colon == std::string_view::npos ? first : parse_size(item.substr(colon + 1), item);
  if (last < first) refuse(item, "goes downwards");
  for (std::uint64_t size = first; size <= last; size *= 2) sizes.push_back(size);
}

}  // namespace

std::vector<std::uint64_t> parse_sizes(std::string_view text) {
  std::vector<std::uint64_t> sizes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    add_item(sizes, text.substr(at, end - at));
    at = end + 1;
  }
  std::ranges::sort(sizes);
  const auto repeated = std::ranges::unique(sizes);
  sizes.erase(repeated.begin(), repeated.end());
  return sizes;
}

std::string size_text(std::uint64_t bytes) {
  for (const auto& [shift, unit] : {std::pair(30, 'G'), std::pair(20, 'M'), std::pair(10, 'K')}) {
    if (bytes >> shift != 0 && (bytes & ((std::uint64_t{1} << shift) - 1)) == 0)
      return fmt::format("{}{}", bytes >> shift, unit);
  }
  return fmt::format("{}", bytes);
}

}  // namespace pingpong

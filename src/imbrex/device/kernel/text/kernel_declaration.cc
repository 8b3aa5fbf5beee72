#include "imbrex/device/kernel/text/kernel_declaration.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "imbrex/base/error.h"
#include "imbrex/device/kernel/text/kernel_words.h"
#include "imbrex/device/kernel/text/region_rules.h"

namespace imbrex::detail {

namespace {

using macros = std::map<std::string, std::string, std::less<>>;

/// Lines that begin with #: taken out, and those that define macros without parameters remembered.
std::string without_directives(std::string_view text, macros& defined) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with('#')) {
      result.append(line).push_back('\n');
      continue;
    }
    line = trimmed(line.substr(1));
    if (!line.starts_with("define")) continue;
    line = trimmed(line.substr(6));
    const auto name_end = std::ranges::find_if_not(line, is_word);
    const auto length = static_cast<std::size_t>(name_end - line.begin());
    if (length > 0 && (length == line.size() || line[length] != '('))
      defined[std::string(line.substr(0, length))] = trimmed(line.substr(length));
  }
  return result;
}

/// Of "(a, (b, c), d)...": a, (b, c) and d. Takes them from `text`; nothing: they never end.
std::optional<std::vector<std::string_view>> take_list(std::string_view& text) {
  if (!text.starts_with('(')) return std::nullopt;
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if ((c == ',' && depth == 1) || depth == 0) {
      parts.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
    if (depth == 0) {
      text.remove_prefix(i + 1);
      return parts;
    }
  }
  return std::nullopt;
}

std::vector<std::string> replaced(const std::vector<std::string>& words, const macros& defined, int depth = 0) {
  std::vector<std::string> result;
  for (const std::string& w : words) {
    const auto found = defined.find(w);
    if (found == defined.end() || depth > 16) {
      result.push_back(w);
    } else {
      for (std::string& r : replaced(words_of(found->second), defined, depth + 1)) result.push_back(std::move(r));
    }
  }
  return result;
}

/// 0: the dialect has no such type.
std::size_t bytes_of(const std::string& type) {
  static const std::map<std::string, std::size_t> known{
      {"char", 1},          {"signed char", 1}, {"unsigned char", 1}, {"short", 2},      {"unsigned short", 2},
      {"int", 4},           {"unsigned", 4},    {"unsigned int", 4},  {"signed int", 4}, {"long", 8},
      {"unsigned long", 8}, {"float", 4},       {"double", 8},        {"IX_HALF", 2},    {"IX_DOUBLE2", 16},
      {"IX_FLOAT2", 8},     {"IX_FLOAT4", 16},  {"IX_INT2", 8},       {"IX_INT4", 16}};
  const auto found = known.find(type);
  return found == known.end() ? 0 : found->second;
}

void add_parameter(kernel_declaration& k, std::string_view text, const macros& defined) {
  std::vector<std::string> words = words_of(text);
  bool is_pointer = false, is_const = false;
  std::string type, name;
  if (!words.empty() && is_word(words.back()[0])) {
    name = words.back();
    words.pop_back();
  }
  for (const std::string& w : replaced(words, defined)) {
    if (w == "*") {
      is_pointer = true;
    } else if (w == "const") {
      is_const = is_const || !is_pointer;
    } else if (w != "IX_GLOBAL" && w != "IX_RESTRICT" && w != "volatile") {
      type += (type.empty() ? "" : " ") + w;
    }
  }
  const std::size_t bytes = bytes_of(type);
  if (name.empty() || type.empty() || (bytes == 0 && !type.starts_with("struct "))) {
    throw usage_error(fmt::format(
        "kernel '{}': parameter '{}' is none that a kernel from a string can have: numbers (char, short, int, long, "
        "unsigned, float, double), IX_FLOAT2 and its like, IX_HALF, structs (with that word), and pointers to them",
        k.name, text));
  }
  using enum kernel_argument::kind;
  k.arguments.push_back({is_pointer ? is_const ? read : read_write : value, bytes});
  k.names.push_back(std::move(name));
  k.types.push_back(std::move(type));
}

unsigned group_size(const kernel_declaration& k, std::string_view text, const macros& defined) {
  unsigned n = 0;
  const std::vector<std::string> words = replaced(words_of(text), defined);
  if (words.size() == 1) {
    const std::string& w = words[0];
    const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), n);
    if (error == std::errc() && end == w.data() + w.size() && n > 0) return n;
  }
  throw usage_error(fmt::format("kernel '{}': the size '{}' of its groups is no number: write one, or a macro for one",
                                k.name, text));
}

}  // namespace

std::vector<kernel_declaration> declared_kernels(std::string_view text) {
  macros defined;
  const std::string all = without_directives(without_comments(text), defined);
  check_regions(all);
  std::vector<kernel_declaration> kernels;
  for (std::size_t at = 0; (at = all.find("IX_KERNEL", at)) != std::string::npos;) {
    std::string_view rest = std::string_view(all).substr(at);
    const auto end = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_word) - rest.begin());
    const std::string_view macro = rest.substr(0, end);
    rest = trimmed(rest.substr(end));
    const bool has_group = macro == "IX_KERNEL_OF_GROUP" || macro == "IX_KERNEL_RESIDENT";
    const std::size_t wanted = macro == "IX_KERNEL_RESIDENT" ? 4 : has_group ? 3 : 2;
    at += end;
    const auto list = take_list(rest);
    if (!list || list->size() != wanted || (macro != "IX_KERNEL" && !has_group))
      throw usage_error(fmt::format("'{}' has {} parts in brackets: see docs/kernels.md", macro, wanted));
    kernel_declaration k;
    k.name = list->front();
    if (std::ranges::find(kernels, k.name, &kernel_declaration::name) != kernels.end())
      throw usage_error(fmt::format("kernel '{}' is there twice: give one of the two another name", k.name));
    std::string_view parameters = list->back(), group = (*list)[1];
    const auto given = take_list(parameters);
    if (!given) throw usage_error(fmt::format("kernel '{}': its parameters stand in brackets", k.name));
    for (const std::string_view p : *given) add_parameter(k, p, defined);
    if (has_group) {
      const auto sizes = take_list(group);
      if (!sizes || sizes->size() != 3) throw usage_error(fmt::format("kernel '{}': a group is (x, y, z)", k.name));
      k.fixed_group = {group_size(k, (*sizes)[0], defined), group_size(k, (*sizes)[1], defined),
                       group_size(k, (*sizes)[2], defined)};
    }
    kernels.push_back(std::move(k));
  }
  return kernels;
}

}  // namespace imbrex::detail

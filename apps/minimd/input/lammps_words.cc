#include "input/lammps_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace md {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string blanks_removed(std::string text) {
  std::erase_if(text, is_blank);
  return text;
}

bool compare(double a, std::string_view op, double b) {
  if (op == "<") return a < b;
  if (op == ">") return a > b;
  if (op == "<=") return a <= b;
  if (op == ">=") return a >= b;
  return op == "==" ? a == b : a != b;
}

}  // namespace

std::string without_comment(const std::string& line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      return line.substr(0, i);
    }
  }
  return line;
}

std::vector<std::string> quoted_words(const std::string& line, text_place place) {
  std::vector<std::string> words;
  auto at = line.begin();
  while ((at = std::find_if_not(at, line.end(), is_blank)) != line.end()) {
    if (*at != '"' && *at != '\'') {
      const auto end = std::find_if(at, line.end(), is_blank);
      words.emplace_back(at, end);
      at = end;
      continue;
    }
    const auto end = std::find(at + 1, line.end(), *at);
    if (end == line.end()) place.refuse(fmt::format("the quote {} is not closed: another is expected", *at));
    words.emplace_back(at + 1, end);
    at = end + 1;
  }
  return words;
}

bool condition_holds(const std::string& condition, text_place place) {
  constexpr const char* expected = "two numbers with <, >, <=, >=, == or != between them";
  const std::string text = blanks_removed(condition);
  const std::size_t begin = text.find_first_of("<>=!");
  if (begin == std::string::npos) place.refuse_value("condition", condition, expected);
  const std::size_t length = begin + 1 < text.size() && text[begin + 1] == '=' ? 2 : 1;
  const std::string op = text.substr(begin, length);
  const auto a = parse_real(text.substr(0, begin)), b = parse_real(text.substr(begin + length));
  if (!a || !b || op == "=" || op == "!") place.refuse_value("condition", condition, expected);
  return compare(*a, op, *b);
}

}  // namespace md

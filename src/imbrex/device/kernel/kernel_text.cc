#include "imbrex/device/kernel/kernel_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <vector>

namespace imbrex {

namespace {

constexpr auto npos = std::string_view::npos;

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Behind the comment, string or character constant that begins at `at`; `at` itself where none does.
std::size_t behind_literal(std::string_view t, std::size_t at) {
  const auto behind = [&](std::size_t end, std::size_t length) { return end == npos ? t.size() : end + length; };
  if (t.substr(at, 2) == "//") return behind(t.find('\n', at), 0);
  if (t.substr(at, 2) == "/*") return behind(t.find("*/", at + 2), 2);
  if (t[at] != '"' && t[at] != '\'') return at;
  for (std::size_t i = at + 1; i < t.size(); ++i) {
    if (t[i] == '\\') {
      ++i;
    } else if (t[i] == t[at] || t[i] == '\n') {
      return i + 1;
    }
  }
  return t.size();
}

/// The next character that is neither blank nor in a comment.
std::size_t next_token(std::string_view t, std::size_t at) {
  while (at < t.size()) {
    if (std::isspace(static_cast<unsigned char>(t[at])) != 0) {
      ++at;
    } else if (t[at] == '/' && behind_literal(t, at) != at) {
      at = behind_literal(t, at);
    } else {
      break;
    }
  }
  return at;
}

/// The comma that ends the macro's argument that begins at `at`; npos where the arguments end instead.
std::size_t end_of_argument(std::string_view t, std::size_t at) {
  for (int depth = 0; at < t.size();) {
    if (const std::size_t behind = behind_literal(t, at); behind != at) {
      at = behind;
      continue;
    }
    if (t[at] == '(') ++depth;
    if (t[at] == ')' && --depth < 0) return npos;
    if (t[at] == ',' && depth == 0) return at;
    ++at;
  }
  return npos;
}

/// Behind the parenthesis that opens the kernel's parameters, where `at` is behind the macro's name; npos: it is not
/// called there.
std::size_t first_parameter(std::string_view t, std::size_t at, int arguments_before) {
  at = next_token(t, at);
  if (at >= t.size() || t[at] != '(') return npos;
  for (int i = 0; i < arguments_before; ++i) {
    at = end_of_argument(t, at + 1);
    if (at == npos) return npos;
  }
  at = next_token(t, at + 1);
  return at < t.size() && t[at] == '(' ? at + 1 : npos;
}

struct named_place {
  std::size_t line;  // of the text, counted from 1
  std::size_t number;
  std::string_view file;
};

/// What the #line directives say of the lines that follow them.
std::vector<named_place> named_places(std::string_view text) {
  std::vector<named_place> places;
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view rest = text.substr(at, end - at);
    at = end + 1;
    constexpr std::string_view directive = "#line ";
    if (!rest.starts_with(directive)) continue;
    rest.remove_prefix(directive.size());
    std::size_t number = 0;
    if (std::from_chars(rest.data(), rest.data() + rest.size(), number).ec != std::errc()) continue;
    const std::size_t open = rest.find('"'), close = rest.rfind('"');
    std::string_view file = places.empty() ? "<kernel>" : places.back().file;
    if (open != close) file = rest.substr(open + 1, close - open - 1);
    places.push_back({line + 1, number, file});
  }
  return places;
}

}  // namespace

std::string with_first_parameters(std::string_view text) {
  constexpr std::string_view plain = "IX_KERNEL", of_group = "IX_KERNEL_OF_GROUP", resident = "IX_KERNEL_RESIDENT";
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t behind = behind_literal(text, at); behind != at) {
      at = behind;
      continue;
    }
    if (!in_name(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && in_name(text[end])) ++end;
    const std::string_view name = text.substr(at, end - at);
    at = end;
    if (name != plain && name != of_group && name != resident) continue;
    const std::size_t place = first_parameter(text, end, name == plain ? 1 : name == of_group ? 2 : 3);
    if (place == npos) continue;
    out.append(text.substr(copied, place - copied)).append("IX_FIRST ");
    copied = at = place;
  }
  return out.append(text.substr(copied));
}

std::string with_named_lines(std::string_view log, std::string_view text) {
  constexpr std::string_view unnamed = "<kernel>:";
  const std::vector<named_place> places = named_places(text);
  std::string out;
  for (;;) {
    const std::size_t at = log.find(unnamed);
    if (at == npos) return out.append(log);
    const char* const number = log.data() + at + unnamed.size();
    std::size_t line = 0;
    const auto read = std::from_chars(number, log.data() + log.size(), line);
    const named_place* of = nullptr;
    for (const named_place& p : places) {
      if (p.line <= line) of = &p;
    }
    out.append(log.substr(0, at));
    if (read.ec == std::errc() && of != nullptr) {
      out.append(of->file).append(":").append(std::to_string(of->number + (line - of->line)));
      log.remove_prefix(static_cast<std::size_t>(read.ptr - log.data()));
    } else {
      out.append(unnamed);
      log.remove_prefix(at + unnamed.size());
    }
  }
}

}  // namespace imbrex

#include "imbrex/device/kernel/text/kernel_words.h"

#include <algorithm>
#include <cctype>

namespace imbrex::detail {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

std::string without_comments(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (rest.starts_with("/*")) {
      i = std::min(text.find("*/", i + 2), text.size() - 1) + 1;
      result += ' ';
    } else if (rest.starts_with("\\\n")) {
      ++i;
    } else if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
      result += "\"\"";
    } else {
      result += text[i];
    }
  }
  return result;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end == i) {
      if (!is_space(text[i])) words.emplace_back(1, text[i]);
      ++i;
    } else {
      words.emplace_back(text.substr(i, end - i));
      i = end;
    }
  }
  return words;
}

}  // namespace imbrex::detail

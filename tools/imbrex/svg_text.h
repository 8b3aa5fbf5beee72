#pragma once

#include <string>

namespace svg {

/// `text` as it stands in XML, such as a drawing: with <, > and & as entities.
inline std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

}  // namespace svg

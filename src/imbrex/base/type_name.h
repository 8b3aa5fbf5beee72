#pragma once

#include <string>
#include <string_view>

/// Readable names of types and entry methods, for reports and traces.
namespace imbrex::detail {

template <class C, auto Value>
constexpr std::string_view pretty_value() {
  return __PRETTY_FUNCTION__;
}
template <class T>
constexpr std::string_view pretty_type() {
  return __PRETTY_FUNCTION__;
}

/// Cuts what stands between `key` and the closing bracket of the compiler's text.
constexpr std::string_view cut(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return text;
  text.remove_prefix(at + key.size());
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[' || text[i] == '<' || text[i] == '{') ++depth;
    if (text[i] == ')' || text[i] == '>' || text[i] == '}') --depth;
    if (depth == 0 && text[i] == ';') return text.substr(0, i);
    if (text[i] == ']' && depth-- == 0) return text.substr(0, i);
  }
  return text;
}

/// "block::halo" of `&block::halo`, which is of class C.
template <class C, auto Method>
const char* entry_name() {
  static const std::string name = [] {
    std::string_view s = cut(pretty_value<C, Method>(), "Value = ");
    // g++ writes a data member pointer as "&block::arrived" and a method as "&block::halo" too, clang likewise; some
    // versions put the cast type in parentheses in front.
    if (const std::size_t amp = s.rfind('&'); amp != std::string_view::npos) s.remove_prefix(amp + 1);
    if (!s.empty() && s.back() == ')') s.remove_suffix(1);
    return std::string(s);
  }();
  return name.c_str();
}

template <class T>
const char* type_name() {
  static const std::string name(cut(pretty_type<T>(), "T = "));
  return name.c_str();
}

}  // namespace imbrex::detail

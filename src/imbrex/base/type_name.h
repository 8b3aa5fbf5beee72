#pragma once

#include <cstddef>
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

/// A text of the compiler's with a null behind it, made when compiling: programs have hundreds.
template <std::size_t N>
struct fixed_text {
  char text[N + 1] = {};
  explicit constexpr fixed_text(std::string_view from) {
    for (std::size_t i = 0; i < N; ++i) text[i] = from[i];
  }
};

/// What `&block::halo` is without what some compilers write around it.
constexpr std::string_view bare_name(std::string_view s) {
  // g++ writes a data member pointer as "&block::arrived" and a method as "&block::halo" too, clang likewise; some
  // versions put the cast type in parentheses in front.
  if (const std::size_t amp = s.rfind('&'); amp != std::string_view::npos) s.remove_prefix(amp + 1);
  if (!s.empty() && s.back() == ')') s.remove_suffix(1);
  return s;
}

/// "block::halo" of `&block::halo`, which is of class C.
template <class C, auto Method>
const char* entry_name() {
  static constexpr std::string_view name = bare_name(cut(pretty_value<C, Method>(), "Value = "));
  static constexpr fixed_text<name.size()> kept(name);
  return kept.text;
}

template <class T>
const char* type_name() {
  static constexpr std::string_view name = cut(pretty_type<T>(), "T = ");
  static constexpr fixed_text<name.size()> kept(name);
  return kept.text;
}

}  // namespace imbrex::detail

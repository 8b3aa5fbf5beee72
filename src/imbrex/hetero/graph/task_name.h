#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

namespace imbrex {

/// What a task is called in reports, traces and what is remembered of its cost: a literal, or another text, of which a
/// copy is kept until the process ends, one of equal ones.
class task_name {
 public:
  constexpr task_name() = default;
  template <std::size_t N>
  consteval task_name(const char (&literal)[N]) : text_(literal) {}  // NOLINT(google-explicit-constructor)
  task_name(const std::string& text);                                // NOLINT(google-explicit-constructor)
  template <class P>
    requires std::is_same_v<P, const char*> || std::is_same_v<P, char*>
  task_name(P text) : task_name(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  /// Of a text that is there as long as the process.
  static constexpr task_name lasting(const char* text) {
    task_name n;
    n.text_ = text;
    return n;
  }

  constexpr const char* text() const { return text_; }
  /// Whether nobody has given one.
  constexpr bool is_default() const { return text_ == default_text; }

 private:
  static constexpr char default_text[] = "task";
  const char* text_ = default_text;
};

}  // namespace imbrex

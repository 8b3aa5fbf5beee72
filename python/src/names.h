#pragma once

#include <string>

#include "value.h"

namespace imbrex_python {

/// The name of a class or a method in a message. Equal ones have one address, and it is still there once it has been
/// sent.
class name_of_python {
 public:
  name_of_python() = default;
  explicit name_of_python(const std::string& text) : text_(ix::kept_name(text)) {}
  const char* get() const { return text_; }

  template <class Archive>
  void serialize(Archive& ar) {
    std::string text;
    if constexpr (!Archive::is_loading) text = text_;
    ar & text;
    if constexpr (Archive::is_loading) text_ = ix::kept_name(text);
  }

 private:
  const char* text_ = "";
};

/// "Block.run" of a class's and a method's name, which `kept_name` gave; lives for ever.
const char* method_of_class(const char* cls, const char* method);

/// What a chare is made with: its class, by name and itself, and the arguments.
struct made_with {
  name_of_python cls;
  value what;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & cls & what;
  }
};

/// Of class, arguments and named arguments. With the interpreter.
made_with made_of(const nb::object& made);

/// What the runtime calls a graph whose coroutine has that name.
inline const char* graph_name(const name_of_python& coroutine, const value&) { return coroutine.get(); }

}  // namespace imbrex_python

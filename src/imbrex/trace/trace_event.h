#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace imbrex {

/// One event of a Chrome trace, flat: the fields of inner objects are named "args.name", the elements of a list
/// follow one another under one name.
class trace_event {
 public:
  /// The text of a field; a number is no text. Empty when there is none.
  std::string_view text(std::string_view name) const;
  /// The number of a field, or of the `index`-th element of a list; 0 when there is none.
  double number(std::string_view name, std::size_t index = 0) const;
  bool has_number(std::string_view name) const { return find(name, 0, true) != nullptr; }
  /// A field in microseconds as nanoseconds.
  std::int64_t nanoseconds(std::string_view name) const;
  /// An identity: a number, or a text of a number, hexadecimal with 0x; other texts are hashed.
  std::uint64_t id(std::string_view name) const;

  void clear() { size_ = 0; }
  void add_text(std::string_view name, std::string_view value) { next(name).text = value; }
  void add_number(std::string_view name, double value);

 private:
  struct field {
    std::string name, text;
    double number = 0;
    bool is_number = false;
  };
  field& next(std::string_view name);
  const field* find(std::string_view name, std::size_t index, bool is_number) const;

  std::vector<field> fields_;  // only the first size_ count: the strings are used again
  std::size_t size_ = 0;
};

/// Calls `take` for every event of a trace, in the order of the file, and keeps none. `name` stands in messages.
/// Throws `error` when the input is no trace.
void for_each_trace_event(std::istream& input, const std::string& name,
                          const std::function<void(const trace_event&)>& take);

}  // namespace imbrex

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Text files of lines and words, and messages that say where in them something is wrong.
namespace md {

/// A file in memory.
struct text_file {
  std::string path, text;
};

/// Reads all of a file. Throws config_error when it cannot.
text_file read_text_file(const std::string& path);

/// The whole text as a finite number (a `+` may lead); nothing where it is none. A number too small to be held is 0.
std::optional<double> parse_real(std::string_view text);
/// The whole text as a whole number (a `+` may lead); nothing where it is none or does not fit.
std::optional<std::int64_t> parse_whole(std::string_view text);

/// Takes the first word from `rest`; empty when there is none. Words are apart by blanks, tabs and carriage returns.
std::string_view next_word(std::string_view& rest);
std::vector<std::string_view> words_of(std::string_view line);

enum class sign { any, not_negative, positive };

/// A line of a file, from 1. Lives no longer than the path that it names.
struct text_place {
  std::string_view path;
  std::int64_t line = 0;

  /// Throws config_error "path:line: what".
  [[noreturn]] void refuse(const std::string& what) const;
  /// "path:line: NAME 'WORD' cannot be used: EXPECTED is expected"; "NAME is missing: ..." for an empty word.
  [[noreturn]] void refuse_value(std::string_view name, std::string_view word, std::string_view expected) const;
  /// `word` as a finite number of that sign. Throws config_error, which calls it `name`.
  double real(std::string_view word, std::string_view name, sign which = sign::any) const;
  /// `word` as a whole number of at least `least`. Throws config_error, which calls it `name`.
  std::int64_t whole(std::string_view word, std::string_view name, std::int64_t least) const;
};

/// Goes through a text line by line. Lives no longer than the file.
class line_reader {
 public:
  explicit line_reader(const text_file& file) : rest_(file.text), place_{file.path, 0} {}

  /// Goes to the next line; false at the end, where `line` is empty from then on.
  bool next();
  /// Without the line feed.
  std::string_view line() const { return line_; }
  text_place place() const { return place_; }

 private:
  std::string_view rest_, line_;
  text_place place_;
};

}  // namespace md

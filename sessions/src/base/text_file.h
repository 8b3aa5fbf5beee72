// Text that grows and is written in one go, for reports.
#pragma once

#include <cstddef>

namespace imbrex::sessions {

class text_file {
 public:
  text_file() = default;
  ~text_file();
  text_file(const text_file&) = delete;
  text_file& operator=(const text_file&) = delete;

  /// As printf. Without memory the text stays as it is.
  void add(const char* format, ...) __attribute__((format(printf, 2, 3)));

  /// In quotes, with what JSON wants escaped.
  void add_quoted(const char* text);

  /// To a file, or to stderr for "-". False, with errno, when it cannot be written.
  bool write(const char* path) const;

 private:
  bool make_room(std::size_t bytes);

  char* data_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};

}  // namespace imbrex::sessions

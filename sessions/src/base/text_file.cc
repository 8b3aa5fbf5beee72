#include "base/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace imbrex::sessions {

text_file::~text_file() { std::free(data_); }

bool text_file::make_room(std::size_t bytes) {
  if (size_ + bytes <= room_) return true;
  const std::size_t room = 2 * (size_ + bytes);
  auto* data = static_cast<char*>(std::realloc(data_, room));
  if (data == nullptr) return false;
  data_ = data;
  room_ = room;
  return true;
}

void text_file::add(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  if (length >= 0 && make_room(static_cast<std::size_t>(length) + 1)) {
    std::vsnprintf(data_ + size_, room_ - size_, format, again);
    size_ += static_cast<std::size_t>(length);
  }
  va_end(again);
}

void text_file::add_quoted(const char* text) {
  add("\"");
  for (const char* c = text; *c != '\0'; ++c) {
    const auto byte = static_cast<unsigned char>(*c);
    if (*c == '"' || *c == '\\') {
      add("\\%c", *c);
    } else if (byte < 0x20) {
      add("\\u%04x", byte);
    } else {
      add("%c", *c);
    }
  }
  add("\"");
}

bool text_file::write(const char* path) const {
  const bool to_stderr = std::strcmp(path, "-") == 0;
  const int file = to_stderr ? STDERR_FILENO : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  std::size_t done = 0;
  while (done < size_) {
    const ssize_t written = ::write(file, data_ + done, size_ - done);
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  const bool closed = to_stderr || close(file) == 0;
  return done == size_ && closed;
}

}  // namespace imbrex::sessions

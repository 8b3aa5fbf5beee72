#include "imbrex/checkpoint/chunked_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace imbrex {

chunked_file::chunked_file(disk_file file, std::size_t chunk_bytes, bool behind)
    : file_(std::move(file)), chunk_bytes_(chunk_bytes), filling_(chunk_bytes) {
  if (!behind) return;
  being_written_.resize(chunk_bytes);
  thread_ = std::make_unique<write_thread>(file_);
}

chunked_file::~chunked_file() = default;

void chunked_file::append(std::span<const std::byte> bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    if (!thread_ && bytes.size() >= room()) {
      const auto rest = bytes.first(room());
      file_.write(std::span(filling_).first(filled_), rest);
      filled_ = 0;
      bytes = bytes.subspan(rest.size());
      continue;
    }
    const std::size_t n = std::min(bytes.size(), room());
    std::memcpy(filling_.data() + filled_, bytes.data(), n);
    filled_ += n;
    bytes = bytes.subspan(n);
    if (filled_ == chunk_bytes_) write_out(filling_);
  }
}

void chunked_file::write_out(std::span<const std::byte> bytes) {
  filled_ = 0;
  if (!thread_) {
    file_.write(bytes);
    return;
  }
  thread_->put(bytes);  // when it returns, the other chunk has been written
  std::swap(filling_, being_written_);
}

void chunked_file::finish() {
  if (filled_ > 0) write_out(std::span(filling_).first(filled_));
  if (thread_) {
    thread_->drain();
    thread_.reset();
  }
  file_.sync();
  file_.close();
}

}  // namespace imbrex

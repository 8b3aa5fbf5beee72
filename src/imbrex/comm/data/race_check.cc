#include "imbrex/comm/data/race_check.h"

#include <cstring>
#include <utility>

#include "imbrex/async/executor.h"

namespace imbrex {

std::shared_ptr<race_check> race_check::as_sent(std::string who, const void* bytes, std::size_t size, memory_kind kind,
                                                stream& s) {
  auto check = std::make_shared<race_check>(std::move(who), bytes, size, s);
  if (kind == memory_kind::device) {
    s.copy(check->sent_.data(), bytes, size);
  } else if (!s.may_still_write()) {  // what is there now is meant, and stays until it is read
    check->copy_host(check->sent_);
  } else {
    s.then_reading("race check", [check] { check->copy_host(check->sent_); });
  }
  return check;
}

race_check::race_check(std::string who, const void* bytes, std::size_t size, stream& s)
    : who_(std::move(who)), bytes_(bytes), sent_(s.on(), size, memory_kind::pinned) {}

void race_check::was_read() const {
  if (sent_.size() > 0 && std::memcmp(sent_.data(), bytes_, sent_.size()) != 0) report();
}

void race_check::will_be_read(const std::shared_ptr<race_check>& check, stream& s) {
  auto now = std::make_shared<buffer<std::byte>>(s.on(), check->sent_.size(), memory_kind::pinned);
  s.copy(now->data(), check->bytes_, now->size());
  s.then_reading("race check", [check, now] {
    if (now->size() > 0 && std::memcmp(check->sent_.data(), now->data(), now->size()) != 0) check->report();
  });
}

void race_check::copy_host(const buffer<std::byte>& to) const {
  if (to.size() > 0) std::memcpy(to.data(), bytes_, to.size());
}

void race_check::report() const {
  executor::current()->fail(who_ +
                            " lent memory that was written before the receiver had read it: await the result of "
                            "`send`, or use two buffers in turn");
}

}  // namespace imbrex

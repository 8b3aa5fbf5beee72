#pragma once

#include <cstddef>

namespace imbrex {

/// What is known of the messages of an entry slot without their types: `when` is one, `slot` has one.
class slot_queue {
 public:
  slot_queue(const slot_queue&) = delete;
  slot_queue& operator=(const slot_queue&) = delete;

  /// Number of messages that have come and nobody has awaited yet.
  std::size_t num_queued() const { return num_queued_; }

  /// For the runtime: as it is called in reports.
  void is_called(const char* name) { name_ = name; }

 protected:
  explicit slot_queue(const char* name) : name_(name) {}
  ~slot_queue() = default;

  const char* name_;
  std::size_t num_queued_ = 0;
};

namespace detail {
template <class Slot>
slot_queue& queue_of(Slot& s) {
  if constexpr (requires { s.queue(); }) {
    return s.queue();
  } else {
    return s;
  }
}
}  // namespace detail

}  // namespace imbrex

#pragma once

#include <cstdint>

namespace imbrex {

/// Operations that end without telling anybody, e.g. those of a GPU. The PE that started them looks at them from its
/// loop. All members are called on that PE's thread.
class progress_source {
 public:
  virtual ~progress_source() = default;
  /// Looks once, and resumes or posts what was waited for. Throws `device_error` when an operation failed.
  virtual void poll() = 0;
  /// Whether something is under way that only `poll` notices: the PE must not sleep.
  virtual bool pending() const = 0;
  /// The PE has had nothing to do for a while: makes sure that everything that is under way will be noticed.
  virtual void ensure_noticed() = 0;
  /// \name The end of a job, before memory is given back. Neither throws.
  ///@{
  /// What waits for functions of the host, or for others who may never come, shall wait no more. Every PE does this
  /// before any drains, since they may wait for each other. Does not block.
  virtual void let_pass() noexcept = 0;
  /// Blocks until nothing is under way, or `now_ns()` is `deadline_ns`: then false.
  virtual bool drain(std::int64_t deadline_ns) noexcept = 0;
  ///@}
};

}  // namespace imbrex

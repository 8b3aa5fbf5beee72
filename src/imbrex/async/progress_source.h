#pragma once

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
  virtual void settle() = 0;
  /// Blocks until nothing is under way: at the end of a job, before memory is given back. Never throws.
  virtual void drain() noexcept = 0;
};

}  // namespace imbrex

#pragma once

#include <stdexcept>
#include <string>

/// The one family of errors. Messages are lowercase: what happened, the value, what to do.
namespace imbrex {

/// Base of every error imbrex throws.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  /// A short name of the kind that travels with the message to another rank: "usage", "comm", ...
  virtual const char* kind() const noexcept { return "error"; }
  /// What a program that ends with this error returns to its caller.
  virtual int exit_code() const noexcept { return 1; }
};

/// The caller used the interface in a way that can never work, or gave a wrong command line.
class usage_error : public error {
 public:
  using error::error;
  const char* kind() const noexcept override { return "usage"; }
  int exit_code() const noexcept override { return 2; }
};

/// An option or environment variable has a value that cannot be used.
class config_error : public error {
 public:
  using error::error;
  const char* kind() const noexcept override { return "config"; }
  int exit_code() const noexcept override { return 2; }
};

/// A device failed or refused an operation.
class device_error : public error {
 public:
  using error::error;
  const char* kind() const noexcept override { return "device"; }
};

/// A transport failed, or what arrived cannot be right.
class comm_error : public error {
 public:
  using error::error;
  const char* kind() const noexcept override { return "comm"; }
};

/// Memory was asked for that is not there.
class out_of_memory : public error {
 public:
  using error::error;
  const char* kind() const noexcept override { return "out_of_memory"; }
};

/// A checkpoint cannot be written or read.
class checkpoint_error : public error {
 public:
  using error::error;
  const char* kind() const noexcept override { return "checkpoint"; }
};

/// Somebody has said that it need not be done.
class cancelled_error : public error {
 public:
  using error::error;
  const char* kind() const noexcept override { return "cancelled"; }
};

/// A feature this build does not have; the message says how to get it.
class not_built : public error {
 public:
  using error::error;
  const char* kind() const noexcept override { return "not_built"; }
};

/// An exception of a type imbrex does not know that was thrown on another rank; carries its text.
class remote_error : public error {
 public:
  using error::error;
  const char* kind() const noexcept override { return "remote"; }
};

/// Exit code of a job that ended because an entry method threw or the program deadlocked.
inline constexpr int exit_code_failed_entry = 70;

/// Throws the error of the given kind (as `error::kind` names it); an unknown kind becomes `remote_error`.
[[noreturn]] void throw_error(const std::string& kind, const std::string& what);

}  // namespace imbrex

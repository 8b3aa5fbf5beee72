#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/base/serialize.h"

namespace imbrex {

namespace detail {

/// Every read-only global of the program, in the order of their construction (the same on all ranks).
class readonly_base {
 public:
  readonly_base(const readonly_base&) = delete;
  readonly_base& operator=(const readonly_base&) = delete;

  /// For the runtime: rank 0's values as bytes, and back on the other ranks.
  static std::vector<std::byte> save_all();
  static void load_all(const std::vector<std::byte>& bytes);
  /// While a job runs nothing may be set.
  static void seal(bool sealed);

 protected:
  readonly_base();
  ~readonly_base();
  static void check_settable();

 private:
  virtual std::vector<std::byte> save() const = 0;
  virtual void load(const std::vector<std::byte>& bytes) = 0;
};

}  // namespace detail

/// A global that is set before `imbrex::run` and only read afterwards, on every rank: rank 0's value is sent to all
/// others before the main chare starts. Define it at namespace scope.
///
///     imbrex::readonly<options> opts;       int main(...) { opts.set(parse(...)); return imbrex::run(...); }
template <class T>
class readonly final : public detail::readonly_base {
 public:
  readonly() = default;
  explicit readonly(T initial) : value_(std::move(initial)) {}

  /// Before `run` only; else `usage_error`.
  void set(T value) {
    check_settable();
    value_ = std::move(value);
  }
  const T& get() const { return value_; }
  const T& operator*() const { return value_; }
  const T* operator->() const { return &value_; }

 private:
  std::vector<std::byte> save() const override { return to_bytes(value_); }
  void load(const std::vector<std::byte>& bytes) override { from_bytes(bytes, value_); }

  T value_{};
};

}  // namespace imbrex

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/async/task.h"
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
  /// The same for one, by its place in that order.
  static void load_one(std::uint64_t which, const std::vector<std::byte>& bytes);
  /// \name For checkpoints: of those that were shared while the job ran (others are set again by whoever restarts it)
  ///@{
  static std::vector<std::byte> save_shared();
  static void load_shared(const std::vector<std::byte>& bytes);
  ///@}
  /// While a job runs nothing may be set.
  static void seal(bool sealed);

 protected:
  readonly_base();
  ~readonly_base();
  static void check_settable();
  /// Gives this rank's value to all other ranks; when awaited all have it. From the main chare.
  task<> send_to_all();

 private:
  virtual std::vector<std::byte> save() const = 0;
  virtual void load(const std::vector<std::byte>& bytes) = 0;

  bool was_shared_ = false;  // by this process, in this job
};

}  // namespace detail

/// A global that is set once and then only read, on every rank. Define it at namespace scope. Set before `imbrex::run`,
/// rank 0's value is sent to all others before the main chare starts; what is known only then, such as proxies of
/// chares that the main chare makes, it shares before it tells anybody who reads it.
///
///     imbrex::readonly<options> opts;       int main(...) { opts.set(parse(...)); return imbrex::run(...); }
///     imbrex::readonly<imbrex::array_proxy<block>> blocks;    // in the main chare: co_await blocks.share(proxy);
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
  /// From the main chare while the job runs: when awaited, every rank has the value. Chares of other PEs read it in
  /// what is sent to them afterwards; who reads while it is being shared races with it.
  [[nodiscard("co_await it")]] task<> share(T value) {
    value_ = std::move(value);
    return send_to_all();
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

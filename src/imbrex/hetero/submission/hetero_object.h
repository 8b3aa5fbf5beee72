#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "imbrex/base/element_bytes.h"
#include "imbrex/hetero/submission/submit.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/hetero_view.h"
#include "imbrex/hetero/tasks/task_journal.h"

namespace imbrex {

/// Elements that live wherever they are needed (Thomadakis and Chrisochoides 2024, 3.1.1): the runtime keeps copies on
/// the host and on devices, brings the newest to where a task runs, and lets tasks use them in the order of submission.
/// The elements are undefined until a task or a view has written them. Copying the handle makes another handle of the
/// same object; the object lives until the last handle, task and view is gone. For the PE of its domain; send it in a
/// message to have it elsewhere.
template <class T>
class hetero_object {
  static_assert(std::is_trivially_copyable_v<T>, "imbrex: a hetero_object holds trivially copyable elements");

 public:
  using element_type = T;

  hetero_object() = default;
  /// Of the calling PE. Memory comes with the first use.
  explicit hetero_object(std::size_t size) : hetero_object(hetero_domain::current(), size) {}
  hetero_object(hetero_domain& domain, std::size_t size)
      : data_(domain.copies().make(domain, bytes_of(size, sizeof(T)))), size_(size) {
    hold();
  }
  /// Of elements that are there, in memory of the program's: on the host tasks and views use them where they are, and
  /// slices are parts of that memory. Until the object is gone and its tasks are over the program leaves them alone
  /// but in views; then they are what the last task has written if that ran on the host, or a view has been taken since
  /// (`co_await x.host(access_mode::read)` brings them from a device).
  static hetero_object over(std::span<T> elements) { return over(hetero_domain::current(), elements); }
  static hetero_object over(hetero_domain& domain, std::span<T> elements) {
    hetero_object o;
    o.data_ = domain.copies().make_over(domain, reinterpret_cast<std::byte*>(elements.data()), elements.size_bytes());
    o.size_ = elements.size();
    o.hold();
    return o;
  }
  /// Another handle of what is there.
  static hetero_object of(hetero_data& data, std::size_t size) {
    hetero_object o;
    o.data_ = &data;
    o.size_ = size;
    o.hold();
    return o;
  }
  hetero_object(const hetero_object& other) : data_(other.data_), size_(other.size_) {
    if (data_ != nullptr) hold();
  }
  hetero_object(hetero_object&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  hetero_object& operator=(hetero_object other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~hetero_object() { release(); }

  /// Elements.
  std::size_t size() const { return size_; }
  bool exists() const { return data_ != nullptr; }

  /// `auto view = co_await obj.host(imbrex::access_mode::read)`: the elements in memory of the host, once all earlier
  /// tasks that write them (for writing: that use them) have finished; they are const in a view that reads. Until the
  /// view ends, later tasks that would change what it sees wait. Submitted now: what is submitted later comes later.
  template <access_mode::kind Mode>
  auto host(access_mode::constant<Mode> mode) const {
    static_assert(Mode != access_mode::kind::commute, "imbrex: a view has its place in the order of uses");
    using seen = std::conditional_t<Mode == access_mode::kind::read, const T, T>;
    return host_access<seen>(*domain(), *data(), size_, mode);
  }

  /// Brings a copy to device `number` of that kind, in the order of submission, for tasks to come.
  void prefetch(device_kind kind, int number = -1) const {
    auto nothing = [](stream&, std::span<const T>) {};
    submit(*domain(), task_options{.name = "prefetch", .on = kind, .number = number}, nothing, *this);
  }
  /// Frees the copies at devices that no task uses now; the newest data go to the host first.
  void evict() const {
    static_cast<void>(domain());
    if (task_journal* const j = task_journal::current(); j != nullptr) return j->evict(*data_);
    domain()->evict(*data());
  }
  /// Gives this handle up.
  void release() {
    size_ = 0;
    hetero_data* const d = std::exchange(data_, nullptr);
    if (d == nullptr) return;
    if (task_journal* const j = task_journal::current(); j != nullptr) [[unlikely]]
      return j->give_up(*d);
    d->domain->give_up(*d);
  }

  /// Elements `offset` to `offset + count` as an object of their own, with dependencies and copies of their own: tasks
  /// on slices that do not overlap are independent of each other, and a device that only works on a slice holds only
  /// the slice. Tasks on the whole wait for those on its slices and see what they wrote, and the other way round, in
  /// order of submission. Slices of a slice are slices of the whole; the same range gives the same slice; all of it
  /// gives the object.
  /// Slices may overlap: tasks on them are ordered as tasks on one object, as a block of a grid with its halo is behind
  /// those that write the blocks around it. Only one task may not use two that overlap and write one of them:
  /// submitting it throws `usage_error`.
  /// Throws `usage_error` for a range that is empty or not inside.
  hetero_object slice(std::size_t offset, std::size_t count) const {
    if (count == 0 || offset > size_ || count > size_ - offset) {
      throw usage_error("a slice from element " + std::to_string(offset) + ", of " + std::to_string(count) +
                        ", of an object of " + std::to_string(size_) + ": it has to be inside, and not empty");
    }
    part_of_object which{.element_bytes = sizeof(T)};
    which.where = {{offset * sizeof(T), 0, 0}, {(offset + count) * sizeof(T), 1, 1}};
    return part(which, count);
  }
  /// Found or made.
  hetero_object part(const part_of_object& which, std::size_t count) const {
    static_cast<void>(domain());
    task_journal* const j = task_journal::current();
    return of(j != nullptr ? *j->part(*data_, which) : *data_->domain->part(*data_, which), count);
  }
  /// What its copy at a place is worth; for tests and reports.
  coherence state_at(int place) const { return state_of(*data(), place); }

  hetero_domain* domain() const {
    if (data_ == nullptr) throw usage_error("a hetero_object was used that is empty: give it a domain and a size");
    return data_->domain;
  }
  hetero_data* data() const {
    task_journal* const j = task_journal::current();
    if (data_ == nullptr || j == nullptr) return data_ != nullptr ? data_->itself() : nullptr;
    return j->itself(*data_);
  }

 private:
  void hold() {
    if (task_journal* const j = task_journal::current(); j != nullptr) [[unlikely]]
      return j->hold(*data_);
    ++data_->references;
    ++data_->handles;
  }

  hetero_data* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace imbrex

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "imbrex/hetero/hetero_domain.h"
#include "imbrex/hetero/hetero_view.h"
#include "imbrex/hetero/submit.h"

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
      : data_(domain.copies().make(domain, size * sizeof(T))), size_(size) {
    ++data_->references;
  }
  hetero_object(const hetero_object& other) : data_(other.data_), size_(other.size_) {
    if (data_ != nullptr) ++data_->references;
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
  /// tasks that write them (for writing: that use them) have finished. Until the view ends, later tasks that would
  /// change what it sees wait. Submitted now: what is submitted later comes later.
  host_access<T> host(access_mode mode) const { return host_access<T>(*domain(), *data_, size_, mode); }

  /// Brings a copy to device `number` of that kind, in the order of submission, for tasks to come.
  void prefetch(device_kind kind, int number = -1) const {
    auto nothing = [](stream&, std::span<const T>) {};
    submit(*domain(), task_options{.name = "prefetch", .on = kind, .number = number}, nothing, *this);
  }
  /// Frees the copies at devices that no task uses now; the newest data go to the host first.
  void evict() const { domain()->evict(*data_); }
  /// Gives this handle up.
  void release() {
    if (data_ != nullptr) data_->domain->copies().release(std::exchange(data_, nullptr));
    size_ = 0;
  }
  /// What its copy at a place is worth; for tests and reports.
  coherence state_at(int place) const { return data_->at(place).state; }

  hetero_domain* domain() const {
    if (data_ == nullptr) throw usage_error("a hetero_object was used that is empty: give it a domain and a size");
    return data_->domain;
  }
  hetero_data* data() const { return data_; }

 private:
  hetero_data* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace imbrex

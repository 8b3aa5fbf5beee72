#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// What values are written to and read from; see serialize.h.
namespace imbrex {

namespace detail {

/// \name What is wrong with bytes that do not fit the type they are read as; each a `comm_error`
///@{
[[noreturn]] void throw_too_short();
[[noreturn]] void throw_too_many_elements(std::uint64_t n, std::size_t bytes_left);
[[noreturn]] void throw_wrong_value(const char* what, std::uint64_t value, std::uint64_t limit);
[[noreturn]] void throw_left_over(std::string_view type, std::size_t bytes_left);
///@}

/// `Beside`: whether large arrays in it may travel beside the message (see `beside`).
template <bool Beside = false, class Archive, class T>
void serialize_value(Archive& ar, T& value);

/// What all archives share: `ar & x`, `ar(x, y)`.
template <class Derived>
class archive_base {
 public:
  template <class T>
  Derived& operator&(T&& value) {
    serialize_value(self(), const_cast<std::remove_cvref_t<T>&>(value));
    return self();
  }
  template <class... T>
  Derived& operator()(T&&... values) {
    (void)(self() & ... & values);
    return self();
  }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
};

}  // namespace detail

/// An array that belongs to a serialised value, but travels beside its bytes: straight from the memory of the object
/// that was written to that of the object that is read.
struct large_block {
  std::uint64_t id = 0;  ///< by which the two find each other
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};

/// As the size up to which arrays are written among the other bytes: always.
inline constexpr std::uint64_t any_size = ~std::uint64_t{0};

/// Counts the bytes that `output_archive` will write.
class sizing_archive : public detail::archive_base<sizing_archive> {
 public:
  static constexpr bool is_loading = false;
  /// Arrays of more than `largest_inside` bytes that may stay out do.
  explicit sizing_archive(std::uint64_t largest_inside = any_size) : largest_inside_(largest_inside) {}
  void bytes(const void*, std::size_t n) { size_ += n; }
  std::size_t size() const { return size_; }

  bool keeps_out(std::uint64_t n) const { return n > largest_inside_; }
  void leave_out(std::byte*, std::uint64_t) {
    size_ += sizeof(large_block::id);
    ++num_left_out_;
  }
  std::size_t num_left_out() const { return num_left_out_; }

 private:
  const std::uint64_t largest_inside_;
  std::size_t size_ = 0;
  std::size_t num_left_out_ = 0;
};

/// Writes into memory the caller owns, which must be as large as `sizing_archive` said.
class output_archive : public detail::archive_base<output_archive> {
 public:
  static constexpr bool is_loading = false;
  explicit output_archive(std::byte* to) : to_(to) {}
  /// The arrays that a `sizing_archive` of the same `largest_inside` left out are listed in `left_out`, with ids from
  /// `first_id` on.
  output_archive(std::byte* to, std::uint64_t largest_inside, std::uint64_t first_id,
                 std::vector<large_block>& left_out)
      : to_(to), largest_inside_(largest_inside), next_id_(first_id), left_out_(&left_out) {}
  void bytes(const void* from, std::size_t n) {
    if (n == 0) return;
    std::memcpy(to_, from, n);
    to_ += n;
  }

  bool keeps_out(std::uint64_t n) const { return n > largest_inside_; }
  void leave_out(std::byte* data, std::uint64_t n) {
    bytes(&next_id_, sizeof next_id_);
    left_out_->push_back({next_id_++, data, n});
  }

 private:
  std::byte* to_;
  std::uint64_t largest_inside_ = any_size;
  std::uint64_t next_id_ = 0;
  std::vector<large_block>* left_out_ = nullptr;
};

/// Reads from memory the caller owns; throws `comm_error` when asked for more than is there, and for values that no
/// writer of the same type writes.
class input_archive : public detail::archive_base<input_archive> {
 public:
  static constexpr bool is_loading = true;
  /// What was left out is listed in `left_out`, with room for it in the value that is read; null: nothing may have
  /// been.
  input_archive(const std::byte* from, std::size_t size, std::vector<large_block>* left_out = nullptr)
      : from_(from), left_(size), left_out_(left_out) {}
  void bytes(void* to, std::size_t n) {
    if (n > left_) [[unlikely]]
      detail::throw_too_short();
    if (n == 0) return;
    std::memcpy(to, from_, n);
    from_ += n;
    left_ -= n;
  }
  /// The next `n` bytes where they are.
  const std::byte* skip(std::size_t n) {
    if (n > left_) [[unlikely]]
      detail::throw_too_short();
    left_ -= n;
    return std::exchange(from_, from_ + n);
  }
  std::size_t bytes_left() const { return left_; }

  /// As many elements as there may be in what is left where each takes at least `least_bytes` of it. Of elements that
  /// may take none a message holds 2^24 at most.
  std::uint64_t most_elements(std::uint64_t least_bytes) const {
    constexpr std::uint64_t most_without_bytes = std::uint64_t{1} << 24;
    if (least_bytes > 0) return left_ / least_bytes;
    return left_ > most_without_bytes ? left_ : most_without_bytes;
  }
  /// Throws unless `n` elements can be there.
  void check_count(std::uint64_t n, std::uint64_t least_bytes) const {
    if (n > most_elements(least_bytes)) [[unlikely]]
      detail::throw_too_many_elements(n, left_);
  }

  bool may_be_left_out() const { return left_out_ != nullptr; }
  void leave_out(std::byte* data, std::uint64_t n) {
    large_block b{0, data, n};
    bytes(&b.id, sizeof b.id);
    left_out_->push_back(b);
  }

 private:
  const std::byte* from_;
  std::size_t left_;
  std::vector<large_block>* left_out_;
};

}  // namespace imbrex

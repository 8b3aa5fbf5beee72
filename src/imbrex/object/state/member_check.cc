#include "imbrex/object/state/member_check.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace imbrex::detail {

namespace {

constexpr std::size_t word_size = sizeof(std::uintptr_t);

std::uintptr_t word_at(const std::byte* p) {
  std::uintptr_t w = 0;
  std::memcpy(&w, p, word_size);
  return w;
}

/// Of this or another process: no floating-point number but tiny ones, and no integer below 2^40, looks like that.
bool may_be_address(std::uintptr_t w) { return w >= (std::uintptr_t{1} << 40) && w < (std::uintptr_t{1} << 47); }

}  // namespace

std::vector<std::byte> member_check::image_of(const void* object, std::size_t size) {
  if (!is_on()) return {};
  std::vector<std::byte> image(word_size + size);
  const auto at = std::bit_cast<std::uintptr_t>(object);
  std::memcpy(image.data(), &at, word_size);
  std::memcpy(image.data() + word_size, object, size);
  return image;
}

std::unique_ptr<member_check> member_check::of(std::vector<std::byte> image, const void* object, std::size_t size) {
  if (image.size() != word_size + size) return nullptr;
  return std::unique_ptr<member_check>(new member_check(std::move(image), object, size));
}

member_check::member_check(std::vector<std::byte> image, const void* object, std::size_t size)
    : object_(static_cast<const std::byte*>(object)),
      before_(image.begin() + word_size, image.end()),
      was_at_(word_at(image.data())),
      fresh_(object_, object_ + size),
      seen_(size, false) {}

void member_check::sees(const void* at, std::size_t n) {
  const auto* const p = static_cast<const std::byte*>(at);
  if (std::less<>()(p, object_) || !std::less<>()(p, object_ + seen_.size())) return;
  const auto first = static_cast<std::size_t>(p - object_);
  std::fill_n(seen_.begin() + static_cast<std::ptrdiff_t>(first), std::min(n, seen_.size() - first), true);
}

/// One byte at least of the word from `at` on, of which the last may be a part.
bool member_check::was_lost(std::size_t at) const {
  const std::size_t n = std::min(word_size, seen_.size() - at);
  if (n == word_size) {
    const std::uintptr_t now = word_at(object_ + at), before = word_at(before_.data() + at);
    if (may_be_address(now) && may_be_address(before)) return false;
    // Of itself, as small strings have it.
    if (before - was_at_ < seen_.size() && now - std::bit_cast<std::uintptr_t>(object_) == before - was_at_)
      return false;
  }
  for (std::size_t i = at; i < at + n; ++i) {
    if (!seen_[i] && object_[i] == fresh_[i] && before_[i] != object_[i]) return true;
  }
  return false;
}

std::string member_check::lost() const {
  std::string text;
  for (std::size_t at = 0; at < seen_.size(); at += word_size) {
    if (!was_lost(at)) continue;
    const std::size_t first = at;
    while (at + word_size < seen_.size() && was_lost(at + word_size)) at += word_size;
    text += fmt::format("{}{} to {}", text.empty() ? "" : ", ", first, std::min(at + word_size, seen_.size()));
  }
  return text;
}

}  // namespace imbrex::detail

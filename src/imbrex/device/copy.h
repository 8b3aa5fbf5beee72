#pragma once

#include <fmt/core.h>

#include "imbrex/base/error.h"
#include "imbrex/device/buffer.h"

namespace imbrex {

/// Copies all of `from` to the front of `to` in the order of stream `s`; both must live until then.
/// Throws `usage_error` when it does not fit.
template <class T>
void copy(buffer_view<T> to, buffer_view<const T> from, stream& s) {
  if (from.size > to.size) {
    throw usage_error(fmt::format("{} elements do not fit a buffer of {}", from.size, to.size));
  }
  s.copy(to.data, from.data, from.bytes());
}

/// The same from buffer to buffer.
template <class T>
void copy(const buffer<T>& to, const buffer<T>& from, stream& s) {
  copy<T>(to.view(), from.view(), s);
}

}  // namespace imbrex

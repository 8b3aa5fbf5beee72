#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "imbrex/device/kernel/kernel_dialect.h"
#include "imbrex/hetero/submission/tasks.h"
#include "imbrex/hetero/windows/task_window.h"
#include "mix.hk"

/// What a task of a random graph over devices does, and the same on plain memory.
namespace imbrex_test {

using word = std::uint32_t;
constexpr std::size_t graph_elements = 64;  // of an object
constexpr std::size_t slice_elements = 16;

/// Elements of an object: all, or a slice.
struct part {
  std::size_t object = 0, offset = 0, count = 0;
  bool overlaps(const part& o) const {
    return object == o.object && offset < o.offset + o.count && o.offset < offset + count;
  }
};

enum class deed_kind { kernel, function, copy };
enum class deed_where { any, host, device };

/// `c` is mixed with `a` and `b`; or the beginning of `a` is copied to `c`, which is filled first if it is overwritten.
struct deed {
  part a, b, c;
  word id = 0;
  bool overwrites = false;
  deed_kind what = deed_kind::kernel;
  deed_where where = deed_where::any;
  imbrex::device_kind on = imbrex::device_kind::host;
  int number = -1;
  int priority = 0;
};

inline void mix(word id, bool overwrites, std::span<const word> a, std::span<const word> b, std::span<word> c) {
  for (std::size_t i = 0; i < c.size(); ++i) {
    const word before = overwrites ? 0 : c[i];
    c[i] = (before ^ (a[i % a.size()] * 2654435769U)) + (b[(i + 1) % b.size()] >> 7) + id;
  }
}

inline void do_deed(const deed& d, std::span<const word> a, std::span<const word> b, std::span<word> c) {
  if (d.what != deed_kind::copy) return mix(d.id, d.overwrites, a, b, c);
  if (d.overwrites) std::fill(c.begin(), c.end(), 0x01010101U * (d.id % 256));
  std::copy_n(a.begin(), std::min(a.size(), c.size()) / 2, c.begin());
}

using graph_object = imbrex::hetero_object<word>;

template <class C>
imbrex::hetero_task submit_kernel(imbrex::hetero_domain& domain, const imbrex::task_options& o, const deed& d,
                                  const graph_object& a, const graph_object& b, const C& c) {
  const auto shape = imbrex::launch_shape::over(d.c.count);
  return submit(domain, o, mix_words, shape, static_cast<int>(d.c.count), static_cast<int>(a.size()),
                static_cast<int>(b.size()), d.id, d.overwrites ? 1 : 0, a, b, c);
}

template <class C>
imbrex::hetero_task submit_function(imbrex::hetero_domain& domain, const imbrex::task_options& o, const deed& d,
                                    const graph_object& a, const graph_object& b, const C& c) {
  auto mixes = [id = d.id, overwrites = d.overwrites](std::span<const word> x, std::span<const word> y,
                                                      std::span<word> z) { mix(id, overwrites, x, y, z); };
  return submit(domain, o, mixes, a, b, c);
}

template <class C>
imbrex::hetero_task submit_copying(imbrex::hetero_domain& domain, const imbrex::task_options& o, const deed& d,
                                   const graph_object& a, const C& c) {
  auto copies = [fill = d.overwrites, id = d.id](imbrex::stream& s, std::span<const word> x, std::span<word> z) {
    if (fill) s.fill(z.data(), static_cast<unsigned char>(id), z.size_bytes());
    s.copy(z.data(), x.data(), std::min(x.size(), z.size()) / 2 * sizeof(word));
  };
  return submit(domain, o, copies, a, c);
}

inline imbrex::hetero_task submit_deed(imbrex::hetero_domain& domain, const deed& d, const graph_object& a,
                                       const graph_object& b, const graph_object& c,
                                       std::span<const imbrex::hetero_task> after) {
  imbrex::task_options o{.priority = d.priority, .after = after};
  if (d.where == deed_where::host) o.on = imbrex::device_kind::host;
  if (d.where == deed_where::device) o.on = d.on, o.number = d.number;
  if (d.what == deed_kind::copy) {
    return d.overwrites ? submit_copying(domain, o, d, a, write(c)) : submit_copying(domain, o, d, a, c);
  }
  if (d.what == deed_kind::function) {
    return d.overwrites ? submit_function(domain, o, d, a, b, write(c)) : submit_function(domain, o, d, a, b, c);
  }
  return d.overwrites ? submit_kernel(domain, o, d, a, b, write(c)) : submit_kernel(domain, o, d, a, b, c);
}

}  // namespace imbrex_test

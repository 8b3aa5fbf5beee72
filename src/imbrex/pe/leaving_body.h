#pragma once

#include <memory>
#include <utility>

#include "imbrex/base/archive.h"
#include "imbrex/pe/active_message.h"
#include "imbrex/pe/remote/parted_message.h"

namespace imbrex::detail {

/// How bodies of one type leave for another rank: what `scheduler::send_to_rank`, which is compiled once, knows of
/// them.
struct leaving_kind {
  const handler_info& receiver;
  bool counted = true;
  bool aggregated = false;
  void (*size)(void* body, sizing_archive& ar) = nullptr;
  void (*write)(void* body, output_archive& ar) = nullptr;
  /// Moves it to where it stays until its large arrays have left; null: it has none.
  std::unique_ptr<departing_body> (*keep)(void* body) = nullptr;
};

template <class B>
void size_body(void* body, sizing_archive& ar) {
  static_cast<B*>(body)->serialize(ar);
}
template <class B>
void write_body(void* body, output_archive& ar) {
  static_cast<B*>(body)->serialize(ar);
}
template <class B>
std::unique_ptr<departing_body> keep_body(void* body) {
  return std::make_unique<departing<B>>(std::move(*static_cast<B*>(body)));
}

template <class B>
constexpr leaving_kind leaving_kind_of() {
  leaving_kind k{handler<B>::info, is_counted<B>(), is_aggregated<B>(), &size_body<B>, &write_body<B>};
  if constexpr (is_partable<B>()) k.keep = &keep_body<B>;
  return k;
}
template <class B>
inline constexpr leaving_kind leaving = leaving_kind_of<B>();

}  // namespace imbrex::detail

#pragma once

#include <exception>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "imbrex/object/collection/collection.h"
#include "imbrex/object/entry/argument_values.h"
#include "imbrex/object/entry/known_slots.h"
#include "imbrex/object/entry/shown_name.h"
#include "imbrex/object/state/member_check.h"

/// How one element comes to be.
namespace imbrex::detail {

/// The type in which a constructor's argument is kept and sent: a copy; a text literal becomes a string.
template <class A>
using kept_argument =
    std::conditional_t<std::is_convertible_v<std::decay_t<A>, const char*> && std::is_pointer_v<std::decay_t<A>>,
                       std::string, std::decay_t<A>>;

/// Memory for an object of class C; freed by `free_object_memory` with the same alignment.
template <class C>
void* allocate_object() {
  if constexpr (alignof(C) > slab::alignment) {
    return ::operator new(sizeof(C), std::align_val_t(alignof(C)));
  } else {
    return slab::allocate(sizeof(C));
  }
}

/// Makes the object of element `e` with copies of `args`; it lives here from then on. An exception in its constructor
/// ends the job.
template <class C, class Tuple>
bool construct_element(scheduler& pe, collection& part, element_base& e, const Tuple& args) {
  void* memory = nullptr;
  const char* const name = std::apply([](const auto&... a) { return class_name<C>(a...); }, args);
  try {
    memory = allocate_object<C>();
    member_check::prepare(memory, sizeof(C));
    chare_pe::of(pe).constructing = &e;
    pe.constructing_type = name;
    const actor_turn turn(pe, &e);
    C* object = std::apply([&](const auto&... a) { return construct_at<C>(memory, name, a...); }, args);
    pe.constructing_type = nullptr;
    chare_access::set_alignment(*object, alignof(C));
    name_slots(*object);
    part.becomes_present(e, object);
    return true;
  } catch (...) {
    chare_pe::of(pe).constructing = nullptr;
    pe.constructing_type = nullptr;
    if (memory != nullptr) free_object_memory(memory, alignof(C));
    chare_pe::of(pe).fail_entry("the constructor of " + (name + part.index_text(e)), std::current_exception());
    return false;
  }
}

}  // namespace imbrex::detail

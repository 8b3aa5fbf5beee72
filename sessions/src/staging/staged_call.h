// One call of a routine of routines.def, with stand-ins in place of its device buffers. What is to be done follows from
// the routine's parameters: all is made from the table.
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>

#include "base/readable_status.h"
#include "routines/routine.h"
#include "staging/held_accesses.h"
#include "staging/held_requests.h"

namespace imbrex::sessions::IX_MPI {

enum class call_kind {
  blocking,     ///< or one-sided, which is done when its window is synchronised
  nonblocking,  ///< done when its request is
  persistent,   ///< made now, done with each start of its request
  split,        ///< a file access, done at its end
  refused
};

/// Memory of a window is the MPI's to reach at any time.
constexpr bool is_refused(std::string_view name) { return name == "Win_attach"; }

template <class... Params>
using last_of = std::tuple_element_t<sizeof...(Params) - 1, std::tuple<Params...>>;

template <class... Params>
constexpr call_kind kind_of(std::string_view name, int (*)(Params...)) {
  using last = last_of<Params...>;
  if (is_refused(name)) return call_kind::refused;
  if (name.ends_with("_init") || name.ends_with("_init_c")) return call_kind::persistent;
  if (name.ends_with("_begin") || name.ends_with("_begin_c")) return call_kind::split;
  if (std::is_same_v<last, MPI_Request*>) return call_kind::nonblocking;
  return call_kind::blocking;
}

template <call_kind kind, class... Params>
class staged_call {
 public:
  using function = int(Params...);

  staged_call(function* real, where w, std::initializer_list<buffer> buffers)
      : real_(real), where_(w), operation_(here.depth > 1 ? staged_pointer() : staged(w, buffers)) {}

  int operator()(Params... args) {
    static_assert(num_addresses <= max_noted);
    if (operation_ == nullptr) return real_(args...);
    operation_->begin();
    const int result = std::apply(real_, std::tuple<Params...>{replaced(args)...});
    if (result == MPI_SUCCESS) go_on(std::get<sizeof...(Params) - 1>(std::tuple<Params&...>{args...}));
    return result;
  }

 private:
  template <class Param>
  static constexpr bool is_address = std::is_same_v<Param, void*> || std::is_same_v<Param, const void*>;
  static constexpr int num_addresses = (0 + ... + (is_address<Params> ? 1 : 0));

  static staged_pointer staged(where w, std::initializer_list<buffer> buffers) {
    if (w.is_window && w.rank == MPI_PROC_NULL) return nullptr;  // touches nothing
    auto made = std::make_shared<staged_operation>(buffers);
    return made->staged() ? made : nullptr;
  }

  /// The table names the buffers in the order of the arguments.
  template <class Param>
  Param replaced(Param given) {
    if constexpr (is_address<Param>) return const_cast<Param>(operation_->address_for(next_++, given));
    if constexpr (std::is_same_v<Param, MPI_Status*>) return status_.use(given);
    return given;
  }

  template <class Last>
  void go_on(Last last) {
    if constexpr (kind == call_kind::persistent) {
      operation_->abandon();  // what was begun is for MPIs that look at data before the first start
      hold_persistent(*last, std::move(operation_));
    } else if constexpr (kind == call_kind::nonblocking) {
      hold_until_complete(*last, std::move(operation_), where_);
    } else if constexpr (kind == call_kind::split) {
      hold_until_end(where_.handle, std::move(operation_));
    } else if (where_.is_window) {
      hold_until_synchronised(where_, std::move(operation_));
    } else {
      completed_operations done;
      done.add(operation_, status_.get());
    }
  }

  function* real_;
  where where_;
  staged_pointer operation_;
  int next_ = 0;
  readable_status status_;
};

/// So that a macro can name the call by its routine's type alone.
template <call_kind kind, class... Params>
staged_call<kind, Params...> staged_call_of(int (*real)(Params...), where w, std::initializer_list<buffer> buffers) {
  return {real, w, buffers};
}

}  // namespace imbrex::sessions::IX_MPI

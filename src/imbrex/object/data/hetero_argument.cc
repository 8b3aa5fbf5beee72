#include "imbrex/object/data/hetero_argument.h"

#include "imbrex/base/error.h"
#include "imbrex/hetero/coherence/slices.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/open_task.h"
#include "imbrex/object/data/object_desk.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex::detail {

void check_sendable(hetero_data& d) {
  if (&d.domain->pe() != &scheduler::current()) {
    throw usage_error("an object of another PE was sent: its own PE has to do that");
  }
  if (!is_defined(d) && d.bytes > 0) {
    throw usage_error("an object was sent that nobody has written: submit what writes it before");
  }
}

bool goes_as_it_is(hetero_data& d) { return has_one_handle(d); }

void copy_in_order(hetero_data& from, hetero_data& to) {
  if (from.bytes > 0) return submit_copy(from, to);
  define_on_host(to, nullptr);
}

void write_parcel(hetero_data& to, object_parcel from) {
  if (from.is_packed()) return define_on_host(to, from.bytes().data());
  object_desk::of(scheduler::current()).fill(to, std::move(from));
}

}  // namespace imbrex::detail

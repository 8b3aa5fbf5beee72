#include "imbrex/hetero/submission/reduced_object.h"

#include <cstddef>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/hetero/coherence/slices.h"
#include "imbrex/hetero/hetero_data.h"
#include "imbrex/hetero/tasks/hetero_domain.h"

namespace imbrex {

namespace {
bool have_bytes_in_common(hetero_data& a, hetero_data& b) {
  const hetero_data& x = *a.itself();
  const hetero_data& y = *b.itself();
  if (&x == &y) return true;
  return x.family != nullptr && x.family == y.family && overlap(x.member->where, y.member->where);
}
/// Others are refused for that.
bool is_of_this_pe(const used_object& u) { return u.data != nullptr && &u.data->domain->pe() == executor::current(); }
}  // namespace

void check_reduced_objects(const task_name& task, std::span<const used_object> uses) {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (!uses[i].is_reduced || !is_of_this_pe(uses[i])) continue;
    for (std::size_t k = 0; k < uses.size(); ++k) {
      if (k == i || !is_of_this_pe(uses[k]) || !have_bytes_in_common(*uses[i].data, *uses[k].data)) continue;
      throw usage_error(fmt::format(
          "task '{}' reduces into the object of argument {}, and argument {} is the same object or overlaps: "
          "what a task adds is apart from the object until somebody else uses that, so give it once",
          task.text(), i, k));
    }
  }
}

}  // namespace imbrex

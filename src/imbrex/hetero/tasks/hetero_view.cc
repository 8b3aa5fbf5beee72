#include "imbrex/hetero/tasks/hetero_view.h"

#include <new>

#include "imbrex/base/error.h"
#include "imbrex/base/memory/slab.h"

namespace imbrex::detail {

namespace {
std::byte of_no_bytes{};  // an object without elements has no memory, but is there
}

hetero_task view_node::submit(hetero_domain& domain, hetero_data& data, access_mode mode) {
  if (task_journal::of_task_away() != nullptr) {
    throw usage_error(
        "a view was asked for inside a task: a task uses its arguments, and coroutines of chares take views");
  }
  static constexpr task_type type{[](task_node* t, const task_call& c) {
                                    auto* self = static_cast<view_node*>(t);
                                    self->memory = c.arguments[0] != nullptr ? c.arguments[0] : &of_no_bytes;
                                    if (self->abandoned) {
                                      self->ends = task_ending::abandoned_view;
                                    } else {
                                      self->domain->rest(*self);
                                    }
                                    wake_waiting(*t);  // last: it may be on another PE
                                  },
                                  &destroy_node<view_node>};
  auto* n = new (slab::allocate(sizeof(view_node))) view_node(type);
  n->use.to = n;
  n->use.data = &data;
  n->use.mode = mode;
  n->accesses = &n->use;
  n->num_accesses = 1;
  n->ends = task_ending::view;
  n->runs_on = task_node::on_the_host;
  n->wishes.name = "host view";
  hetero_task handle(n);  // before another PE may end it
  domain.submit(n);
  return handle;
}

void view_node::end(task_node* t) {
  auto* self = static_cast<view_node*>(t);
  if (!task_journal::is_near(self->domain)) [[unlikely]]
    return self->domain->visits()->ask([self] { self->end_here(); });
  self->end_here();
}

void view_node::end_here() {
  if (over()) return;
  if (memory == nullptr) {
    abandoned = true;
  } else {
    domain->close(*this);
  }
}

}  // namespace imbrex::detail

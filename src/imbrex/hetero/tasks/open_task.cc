#include "imbrex/hetero/tasks/open_task.h"

#include <array>
#include <cstring>
#include <new>

#include "imbrex/base/memory/slab.h"
#include "imbrex/hetero/tasks/hetero_domain.h"

namespace imbrex::detail {

namespace {
constexpr std::uint8_t anywhere = task_node::on_the_host | task_node::on_devices(device_kind::host) |
                                  task_node::on_devices(device_kind::cuda) | task_node::on_devices(device_kind::opencl);
}

open_task* open_task::submit(hetero_domain& domain, hetero_data& data, access_mode mode, const char* name, waiter& told,
                             bool held) {
  static constexpr task_type type{[](task_node* n, const task_call& c) {
                                    auto* self = static_cast<open_task*>(n);
                                    self->memory = c.arguments[0];
                                    self->order = c.order;
                                    self->opened = true;
                                    wake_waiting(*n);
                                  },
                                  &destroy_node<open_task>};
  auto* t = new (slab::allocate(sizeof(open_task))) open_task(type);
  t->use.to = t;
  t->use.data = &data;
  t->use.mode = mode;
  t->accesses = &t->use;
  t->num_accesses = 1;
  t->ends = task_ending::told;
  t->runs_on = anywhere;
  t->placed = writes(mode) ? placed_by::next_use : placed_by::its_data;
  t->num_blockers = held ? 1 : 0;
  t->wishes.name = name;
  domain.submit(t);
  add_waiting(*t, told);
  return t;
}

void open_task::let_go(bool comes_from_device) {
  if (comes_from_device && placed == placed_by::next_use) placed = placed_by::next_use_on_device;
  if (num_blockers > 1) domain->rest(*this);  // for tasks, as others do; perhaps behind a view
  domain->unblock(*this);
}

void open_task::end() { domain->close(*this); }

void open_task::fail(std::exception_ptr why) {
  fault = task_fault::own;
  extras().failure = std::move(why);
  domain->close(*this);
}

bool has_one_handle(const hetero_data& d) { return d.family == nullptr && d.references == d.of_tasks + 1; }

bool is_ready_on_host(hetero_data& d) {
  return d.defined && d.family == nullptr && d.first_use == nullptr && d.failure == nullptr && d.reducing == nullptr &&
         d.at(0).state != coherence::invalid && d.at(0).written.reached();
}

void define_on_host(hetero_data& d, const std::byte* from) {
  d.defined = true;
  if (d.bytes == 0) return;
  hetero_copy& c = d.at(0);
  c.memory = d.domain->copies().host().allocate(d.bytes);
  std::memcpy(c.memory, from, d.bytes);
  c.state = coherence::exclusive;
}

namespace {
struct copy_task final : task_node {
  using task_node::task_node;
  std::array<task_access, 2> from_to;
  std::uint64_t size = 0;  // bytes
};
}  // namespace

void submit_copy(hetero_data& from, hetero_data& to) {
  static constexpr task_type type{[](task_node* n, const task_call& c) {
                                    const std::uint64_t size = static_cast<copy_task*>(n)->size;
                                    if (size == 0) return;
                                    if (c.order != nullptr) {
                                      c.order->copy(c.arguments[1], c.arguments[0], size);
                                    } else {
                                      std::memcpy(c.arguments[1], c.arguments[0], size);
                                    }
                                  },
                                  &destroy_node<copy_task>};
  auto* t = new (slab::allocate(sizeof(copy_task))) copy_task(type);
  t->size = from.bytes;
  for (task_access& a : t->from_to) a.to = t;
  t->from_to[0].data = &from;
  t->from_to[1].data = &to;
  t->from_to[1].mode = access_mode::write;
  t->accesses = t->from_to.data();
  t->num_accesses = 2;
  t->runs_on = anywhere;
  t->placed = placed_by::its_data;
  t->wishes.name = "copy";
  from.domain->submit(t);
}

}  // namespace imbrex::detail

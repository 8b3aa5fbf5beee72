#include "imbrex/hetero/submission/untyped_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/hetero/coherence/place.h"
#include "imbrex/hetero/submission/reduced_object.h"

namespace imbrex {

namespace {

/// Any number of uses.
struct untyped_node : task_node {
  untyped_node(const task_type& what, const std::vector<untyped_use>& wanted) : task_node(what), uses(wanted.size()) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      uses[i].to = this;
      uses[i].data = wanted[i].data;
      uses[i].mode = wanted[i].mode;
    }
    num_accesses = static_cast<std::uint16_t>(uses.size());
    accesses = uses.data();
  }
  std::vector<task_access> uses;
};

struct function_node final : untyped_node {
  function_node(const std::vector<untyped_use>& wanted, std::function<void(const untyped_call&)> f)
      : untyped_node(its_type, wanted), function(std::move(f)) {}
  static void run(task_node* t, const task_call& c) {
    const memory_kind kind = c.at->is_host() ? memory_kind::host : c.at->on().allocates();
    static_cast<function_node*>(t)->function({c.order, kind, c.arguments});
  }
  static constexpr task_type its_type{&run, &destroy_node<function_node>, nullptr};

  std::function<void(const untyped_call&)> function;
};

struct kernel_node final : untyped_node {
  kernel_node(const kernel_source& k, const launch_shape& s, const std::vector<untyped_use>& wanted,
              std::vector<std::vector<std::byte>> v)
      : untyped_node(its_type, wanted), kernel(k), shape(s), values(std::move(v)) {
    groups.total = shape.num_groups() > 1 ? shape.num_groups() : 0;
  }
  static void run(task_node* t, const task_call& c) {
    auto& self = *static_cast<kernel_node*>(t);
    std::vector<void*> places(self.values.size());
    std::vector<std::byte*> pointers(c.arguments.begin(), c.arguments.end());
    std::size_t next = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const bool is_value = self.kernel.arguments[i].what == kernel_argument::kind::value;
      places[i] = is_value ? static_cast<void*>(self.values[i].data()) : &pointers[next++];
    }
    if (c.order != nullptr) {
      launch(*c.order, self.kernel, self.shape, places.data());
    } else {
      run_on_cpu(self.kernel, self.shape, places.data(), c.first_part,
                 c.last_part != 0 ? c.last_part : self.shape.num_groups());
    }
  }
  static task_parts* parts_of(task_node* t) { return &static_cast<kernel_node*>(t)->groups; }
  static constexpr task_type its_type{&run, &destroy_node<kernel_node>, &parts_of};

  const kernel_source& kernel;
  launch_shape shape;
  std::vector<std::vector<std::byte>> values;
  task_parts groups;
};

template <class Node, class... A>
hetero_task submit_node(hetero_domain& domain, const task_options& o, std::uint8_t where, A&&... arguments) {
  void* const memory = slab::allocate(sizeof(Node));
  task_node* t = nullptr;
  try {
    t = new (memory) Node(std::forward<A>(arguments)...);
  } catch (...) {
    slab::free(memory);
    throw;
  }
  detail::set_options(*t, o, where);
  hetero_task handle(t);
  domain.submit(t, o.after);
  return handle;
}

void check_reduced(const task_name& task, const std::vector<untyped_use>& uses) {
  if (std::ranges::none_of(uses, [](const untyped_use& u) { return u.reduces_into != nullptr; })) return;
  std::vector<used_object> all;
  all.reserve(uses.size());
  for (const untyped_use& u : uses) {
    const bool is_reduced = u.reduces_into != nullptr;
    all.push_back({is_reduced ? u.reduces_into : u.data, is_reduced});
  }
  check_reduced_objects(task, all);
}

void check_uses(const task_name& task, const std::vector<untyped_use>& uses) {
  if (uses.size() > UINT16_MAX) {
    throw usage_error(fmt::format("a task uses {} objects: {} at most", uses.size(), UINT16_MAX));
  }
  for (const untyped_use& u : uses) {
    if (u.data == nullptr) throw usage_error("a task uses an object that is empty: give it a size");
  }
  check_reduced(task, uses);
}

void check_kernel(const kernel_source& k, const std::vector<untyped_use>& uses,
                  const std::vector<std::vector<std::byte>>& values) {
  if (values.size() != k.arguments.size()) {
    throw usage_error(
        fmt::format("kernel '{}' has {} parameters, and was given {}", k.name, k.arguments.size(), values.size()));
  }
  std::size_t pointers = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const kernel_argument& a = k.arguments[i];
    if (a.what == kernel_argument::kind::value) {
      if (values[i].size() == a.bytes) continue;
      throw usage_error(fmt::format("parameter {} of kernel '{}' has {} bytes, and was given {}", i + 1, k.name,
                                    a.bytes, values[i].size()));
    }
    if (pointers < uses.size() && a.what == kernel_argument::kind::read && uses[pointers].mode != access_mode::read)
      throw usage_error(
          fmt::format("parameter {} of kernel '{}' is const, and its object is to be written", i + 1, k.name));
    ++pointers;
  }
  if (pointers != uses.size()) {
    throw usage_error(
        fmt::format("kernel '{}' has {} pointers, and was given {} objects", k.name, pointers, uses.size()));
  }
}

}  // namespace

hetero_task submit_untyped(hetero_domain& domain, const task_options& o, std::uint8_t where,
                           std::vector<untyped_use> uses, std::function<void(const untyped_call&)> f) {
  check_uses(o.name, uses);
  return submit_node<function_node>(domain, o, where, uses, std::move(f));
}

hetero_task submit_untyped(hetero_domain& domain, task_options o, const kernel_source& k, const launch_shape& shape,
                           std::vector<untyped_use> uses, std::vector<std::vector<std::byte>> values) {
  if (o.name.is_default()) o.name = task_name::lasting(k.name);
  check_uses(o.name, uses);
  check_launch(k, shape);
  check_kernel(k, uses, values);
  return submit_node<kernel_node>(domain, o, task_node::where_runs(k), k, shape, uses, std::move(values));
}

}  // namespace imbrex

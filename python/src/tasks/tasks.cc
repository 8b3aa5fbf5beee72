#include <imbrex/device/interop/cuda_native.h>
#include <imbrex/hetero/submission/untyped_task.h>
#include <imbrex/text_kernels.h>

#include <algorithm>

#include "arrays.h"
#include "objects.h"
#include "proxies.h"
#include "recording.h"
#include "reductions.h"
#include "submitted.h"

namespace imbrex_python {

namespace {

struct named_options {
  explicit named_options(const nb::tuple& t) {
    name = nb::cast<std::string>(t[0]);
    options.priority = nb::cast<int>(t[1]);
    if (!t[2].is_none()) options.on = kind_of(nb::cast<std::string>(t[2]));
    options.number = nb::cast<int>(t[3]);
    for (const nb::handle h : t[4]) after.push_back(nb::cast<std::shared_ptr<submitted>>(h)->task());
    options.after = after;
    if (!name.empty()) options.name = name;
  }
  named_options(const named_options&) = delete;
  std::string name;
  std::vector<ix::hetero_task> after;
  ix::task_options options;
};

/// Of (object, mode), or of (object, "reduce", (operation, dtype, parts)).
ix::untyped_use use_of(const nb::tuple& t) {
  const bytes_object& o = nb::cast<object_pointer>(t[0])->here(an_object);
  const auto mode = nb::cast<std::string>(t[1]);
  if (mode != "reduce") return {o.data(), mode_of(mode)};
  return reduce_into(o, reduction_of(t[2]));
}

std::vector<ix::untyped_use> uses_of(const nb::list& given) {
  std::vector<ix::untyped_use> uses;
  for (const nb::handle h : given) uses.push_back(use_of(nb::cast<nb::tuple>(h)));
  return uses;
}

/// `where`: "host", "cuda", or both.
std::shared_ptr<submitted> submit_alone(const nb::object& f, const std::vector<std::string>& where,
                                        const nb::list& given, const nb::tuple& options) {
  check_in_job();
  see_to_what_was_left();
  const named_options o(options);
  std::vector<ix::untyped_use> uses = uses_of(given);
  ix::hetero_domain& domain = domain_for(uses);
  std::vector<std::pair<std::size_t, bool>> objects;
  for (const ix::untyped_use& u : uses) objects.emplace_back(u.data->bytes, u.mode == ix::access_mode::read);
  const auto result = std::make_shared<outcome>();
  ix::hetero_task t = ix::submit_untyped(domain, o.options, places_of(where), std::move(uses),
                                         python_function(value(f), o.name, std::move(objects), result));
  return std::make_shared<submitted>(std::move(t), result, is_recording());
}

std::shared_ptr<submitted> submit_kernel_alone(const ix::text_kernels& all, const std::string& name,
                                               const nb::tuple& shape, const nb::list& given,
                                               const std::vector<nb::object>& values, const nb::tuple& options) {
  check_in_job();
  see_to_what_was_left();
  const named_options o(options);
  std::vector<ix::untyped_use> uses = uses_of(given);
  ix::hetero_domain& domain = domain_for(uses);
  ix::hetero_task t =
      ix::submit_untyped(domain, o.options, all.get(name), shape_of(shape), std::move(uses), bytes_of_values(values));
  return std::make_shared<submitted>(std::move(t), nullptr, is_recording());
}

/// Fills an object, on a GPU, with what an array there has, which is kept until it has been copied.
void submit_copy_of_gpu(const object_handle& to, const nb::object& array) {
  const bytes_object& o = to.here(an_object);
  see_to_what_was_left();
  const array_memory from = array_memory::of(array, false);
  if (!from.on_gpu || from.bytes != o.size()) {
    throw ix::usage_error("this array says that it is on a GPU and has " + std::to_string(o.size()) +
                          " bytes, and gives " + std::to_string(from.bytes) + (from.on_gpu ? "" : " of main memory"));
  }
  const auto is_gpu = [](const auto& p) { return p->kind() == ix::device_kind::cuda; };
  if (std::ranges::none_of(o.domain()->places(), is_gpu)) {
    throw ix::usage_error(
        "this array is on a GPU, and tasks of this PE are not: start the program with --imbrex-device=cuda, or give a "
        "copy in main memory");
  }
  ix::submit_untyped(*o.domain(), {.name = "copy"}, places_of({"cuda"}), {{o.data(), ix::access_mode::write}},
                     [from](const ix::untyped_call& c) {
                       if (from.ready_in) ix::after_native(*c.order, *from.ready_in);
                       if (from.bytes > 0) c.order->copy(c.objects[0], from.data, from.bytes);
                     });
}

nb::list parameters_of(const ix::text_kernels& all, const std::string& name) {
  nb::list result;
  const ix::kernel_source& k = all.get(name);
  for (std::size_t i = 0; i < k.arguments.size(); ++i) {
    const char* what = "value";
    if (k.arguments[i].what == ix::kernel_argument::kind::read) what = "read";
    if (k.arguments[i].what == ix::kernel_argument::kind::read_write) what = "read_write";
    result.append(nb::make_tuple(all.parameters(name)[i], all.types(name)[i], what));
  }
  return result;
}

ix::task<value> all_over() {
  auto waiting = ix::all_tasks();
  co_await waiting;
  co_return value();
}

}  // namespace

void bind_tasks(nb::module_& m) {
  nb::class_<submitted>(
      m, "Task", "A task that was submitted. `await t` waits until it is over, and gives what its function returned.")
      .def("_until_over", &submitted::until_over)
      .def_prop_ro(
          "done", [](const submitted& t) { return t.running().done(); }, "Whether it is over.")
      .def_prop_ro(
          "where", [](const submitted& t) { return t.running().where(); },
          "Where it ran or will run; empty before that is known.")
      .def(
          "cancel", [](const submitted& t) { return t.running().cancel(); }, "It need not run. False: it is too late.");
  nb::class_<ix::text_kernels>(m, "_Kernels")
      .def(nb::init<const std::string&, const std::string&>())
      .def("names", &ix::text_kernels::names)
      .def("parameters", &parameters_of)
      .def("fixed_group", [](const ix::text_kernels& all, const std::string& name) {
        const ix::extent3 g = all.get(name).fixed_group;
        return nb::make_tuple(g.x, g.y, g.z);
      });
  m.def("submit_function", &submit_alone);
  m.def("submit_kernel", &submit_kernel_alone);
  m.def("submit_copy_of_gpu", &submit_copy_of_gpu, nb::arg("to"), nb::arg("array"));
  m.def("all_tasks", [] {
    check_in_job();
    return std::make_shared<wait>([] { return all_over(); }, "imbrex.all_tasks()");
  });
}

}  // namespace imbrex_python

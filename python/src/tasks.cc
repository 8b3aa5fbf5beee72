#include <fmt/format.h>
#include <imbrex/device/interop/cuda_native.h>
#include <imbrex/hetero/submission/untyped_task.h>
#include <imbrex/text_kernels.h>
#include <nanobind/ndarray.h>

#include <variant>

#include "home.h"
#include "proxies.h"

namespace imbrex_python {

namespace {

using bytes_object = ix::hetero_object<std::byte>;
using object_handle = of_home<bytes_object>;
using object_pointer = std::shared_ptr<object_handle>;
constexpr const char* an_object = "an Object";

ix::access_mode mode_of(const std::string& mode) {
  if (mode == "read") return ix::access_mode::read;
  if (mode == "write") return ix::access_mode::write;
  if (mode == "read_write") return ix::access_mode::read_write;
  if (mode == "commute") return ix::access_mode::commute;
  throw ix::usage_error("there is no access mode '" + mode + "': read, write, read_write, commute");
}

// ------------------------------------------------------------------------------------------------ objects

object_pointer make_object(std::size_t bytes) {
  check_in_job();
  see_to_what_was_left();
  return std::make_shared<object_handle>(bytes_object(bytes));
}

object_pointer slice_of(const object_handle& o, std::size_t first, std::size_t count) {
  return std::make_shared<object_handle>(o.here(an_object).slice(first, count));
}

ix::device_kind kind_of(const std::string& name) {
  for (const ix::device_kind k : {ix::device_kind::host, ix::device_kind::cuda, ix::device_kind::opencl}) {
    if (name == ix::to_string(k)) return k;
  }
  throw ix::usage_error("there is no device '" + name + "': host, cuda, opencl");
}

/// Memory as an array of bytes. `is_kept`, if any, is false when no array of Python is of it any more.
nb::object bytes_of(std::byte* data, std::size_t bytes, bool reads, const std::shared_ptr<bool>& is_kept = nullptr) {
  const auto end = [](void* p) noexcept {
    const std::unique_ptr<std::shared_ptr<bool>> kept(static_cast<std::shared_ptr<bool>*>(p));
    if (*kept != nullptr) **kept = false;
  };
  if (is_kept != nullptr) *is_kept = true;
  const nb::capsule owner(new std::shared_ptr<bool>(is_kept), end);
  auto* const first = reinterpret_cast<unsigned char*>(data);
  if (reads) return nb::cast(nb::ndarray<nb::numpy, const unsigned char, nb::ndim<1>>(first, {bytes}, owner));
  return nb::cast(nb::ndarray<nb::numpy, unsigned char, nb::ndim<1>>(first, {bytes}, owner));
}

// ------------------------------------------------------------------------------------------------ views

/// An object's bytes on the host, as long as the block of Python that asked for them.
class view {
 public:
  view(const object_handle& o, const std::string& mode) : object_(o.here(an_object)), mode_(mode_of(mode)) {
    see_to_what_was_left();
    if (mode == "commute") throw ix::usage_error("a view has its place in the order of uses: read, write, read_write");
  }
  static wait_pointer begin(std::shared_ptr<view> v) {
    return std::make_shared<wait>([v = std::move(v)] {
      if (v->mode_ == ix::access_mode::read) return taken(v, ix::access_mode::read);
      return v->mode_ == ix::access_mode::write ? taken(v, ix::access_mode::write)
                                                : taken(v, ix::access_mode::read_write);
    });
  }
  void end() { held_ = {}; }

 private:
  template <class T>
  using kept_view = std::unique_ptr<of_home<ix::host_view<T>>>;

  template <ix::access_mode::kind Mode>
  static ix::task<value> taken(std::shared_ptr<view> v, ix::access_mode::constant<Mode> mode) {
    constexpr bool reads = Mode == ix::access_mode::kind::read;
    using element = std::conditional_t<reads, const std::byte, std::byte>;
    auto access = v->object_.here(an_object).host(mode);
    auto there = co_await access;
    element* const data = there.data();
    const std::size_t bytes = there.size();
    v->held_ = std::make_unique<of_home<ix::host_view<element>>>(std::move(there));
    const with_python here;
    co_return value(bytes_of(const_cast<std::byte*>(data), bytes, reads));
  }

  object_handle object_;
  ix::access_mode mode_;
  std::variant<std::monostate, kept_view<const std::byte>, kept_view<std::byte>> held_;
};

// ------------------------------------------------------------------------------------------------ tasks

/// What a task's function of Python returned, or threw.
struct outcome {
  value result;
  std::unique_ptr<python_failure> failure;
};

class submitted {
 public:
  submitted(ix::hetero_task t, std::shared_ptr<outcome> o) : task_(std::move(t)), outcome_(std::move(o)) {}
  static wait_pointer until_over(const std::shared_ptr<submitted>& t) {
    static_cast<void>(t->task());
    return std::make_shared<wait>([t] { return over(t->task(), t->outcome_); });
  }
  ix::hetero_task& task() const { return task_.here("a task"); }

 private:
  static ix::task<value> over(ix::hetero_task t, std::shared_ptr<outcome> o) {
    std::exception_ptr failed;
    try {
      co_await t;
    } catch (...) {
      failed = std::current_exception();
    }
    // The runtime's has the same text with the task's name in front, but not the object.
    if (failed && o->failure != nullptr) throw python_failure(*o->failure);
    if (failed) std::rethrow_exception(failed);
    co_return o->result;
  }

  of_home<ix::hetero_task> task_;
  std::shared_ptr<outcome> outcome_;
};

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

std::vector<ix::untyped_use> uses_of(const nb::list& given) {
  std::vector<ix::untyped_use> uses;
  for (const nb::handle h : given) {
    const auto pair = nb::cast<nb::tuple>(h);
    const bytes_object& o = nb::cast<object_pointer>(pair[0])->here(an_object);
    uses.push_back({o.data(), mode_of(nb::cast<std::string>(pair[1]))});
  }
  return uses;
}

/// A function of Python that is called with the memory of the task's objects: on the host as arrays of bytes, which it
/// may not keep; on a GPU as addresses, with the stream's number.
class python_function {
 public:
  python_function(const nb::object& f, std::string name, std::vector<std::pair<std::size_t, bool>> objects,
                  std::shared_ptr<outcome> o)
      : function_(f), name_(std::move(name)), objects_(std::move(objects)), outcome_(std::move(o)) {}

  void operator()(const ix::untyped_call& c) const {
    if (c.order == nullptr) return call(c, nullptr);
    ix::enqueue_native(*c.order, "python", [&](CUstream_st* native) { call(c, native); });
  }

 private:
  void call(const ix::untyped_call& c, CUstream_st* native) const {
    const with_python here;
    const ix::trace_range shown(name_);
    std::vector<std::shared_ptr<bool>> kept;
    try {
      nb::list memory;
      for (std::size_t i = 0; i < objects_.size(); ++i) {
        const auto [bytes, reads] = objects_[i];
        if (c.order != nullptr) {
          memory.append(reinterpret_cast<std::uintptr_t>(c.objects[i]));
        } else {
          kept.push_back(std::make_shared<bool>(true));
          memory.append(bytes_of(c.objects[i], bytes, reads, kept.back()));
        }
      }
      nb::object stream = nb::none();
      if (c.order != nullptr) stream = nb::int_(reinterpret_cast<std::uintptr_t>(native));
      outcome_->result = value(function_.get()(std::move(memory), stream));
    } catch (nb::python_error& e) {
      outcome_->failure = std::make_unique<python_failure>(python_failure::of(e, name_));
      throw python_failure(*outcome_->failure);
    }
    for (const std::shared_ptr<bool>& k : kept) {
      if (!*k) continue;
      throw ix::usage_error(
          name_ +
          " keeps an array that it was called with, whose memory is another's afterwards: let it keep "
          "a copy");
    }
  }

  value function_;
  std::string name_;
  std::vector<std::pair<std::size_t, bool>> objects_;  // bytes, and whether they are only read
  std::shared_ptr<outcome> outcome_;
};

/// `where`: "host", "cuda", or both.
std::shared_ptr<submitted> submit_function(const nb::object& f, const std::vector<std::string>& where,
                                           const nb::list& given, const nb::tuple& options) {
  check_in_job();
  see_to_what_was_left();
  const named_options o(options);
  std::uint8_t places = 0;
  for (const std::string& w : where) {
    const ix::device_kind k = kind_of(w);
    places |= k == ix::device_kind::host ? ix::task_node::on_the_host : ix::task_node::on_devices(k);
  }
  const std::vector<ix::untyped_use> uses = uses_of(given);
  std::vector<std::pair<std::size_t, bool>> objects;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const auto pair = nb::cast<nb::tuple>(given[i]);
    objects.emplace_back(nb::cast<object_pointer>(pair[0])->here(an_object).size(),
                         uses[i].mode == ix::access_mode::read);
  }
  const auto result = std::make_shared<outcome>();
  ix::hetero_task t = ix::submit_untyped(ix::hetero_domain::current(), o.options, places, uses,
                                         python_function(f, o.name, std::move(objects), result));
  return std::make_shared<submitted>(std::move(t), result);
}

// ------------------------------------------------------------------------------------------------ kernels

ix::extent3 extent_of(const nb::tuple& t) {
  return {nb::cast<unsigned>(t[0]), nb::cast<unsigned>(t[1]), nb::cast<unsigned>(t[2])};
}

std::shared_ptr<submitted> submit_kernel(const ix::text_kernels& all, const std::string& name, const nb::tuple& shape,
                                         const nb::list& given, const std::vector<nb::object>& values,
                                         const nb::tuple& options) {
  check_in_job();
  see_to_what_was_left();
  const named_options o(options);
  const ix::launch_shape s{.groups = extent_of(nb::cast<nb::tuple>(shape[0])),
                           .group = extent_of(nb::cast<nb::tuple>(shape[1])),
                           .shared_bytes = nb::cast<std::size_t>(shape[2])};
  std::vector<std::vector<std::byte>> bytes;
  for (const nb::object& v : values) {
    const auto b = nb::cast<nb::bytes>(v);
    const auto* const first = static_cast<const std::byte*>(b.data());
    bytes.emplace_back(first, first + b.size());
  }
  ix::hetero_task t =
      ix::submit_untyped(ix::hetero_domain::current(), o.options, all.get(name), s, uses_of(given), std::move(bytes));
  return std::make_shared<submitted>(std::move(t), std::make_shared<outcome>());
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
  nb::class_<object_handle>(m, "_Object")
      .def("slice", &slice_of)
      .def("prefetch",
           [](const object_handle& o, const std::string& kind, int number) {
             const bytes_object& there = o.here(an_object);
             const ix::device_kind k = kind_of(kind);
             const auto where = k == ix::device_kind::host ? ix::task_node::on_the_host : ix::task_node::on_devices(k);
             ix::submit_untyped(*there.domain(), {.name = "prefetch", .on = k, .number = number}, where,
                                {{there.data(), ix::access_mode::read}}, [](const ix::untyped_call&) {});
           })
      .def("evict", [](const object_handle& o) { o.here(an_object).evict(); })
      .def("release", &object_handle::give_up);
  nb::class_<view>(m, "_View")
      .def(nb::init<const object_handle&, const std::string&>())
      .def("begin", &view::begin)
      .def("end", &view::end);
  nb::class_<submitted>(
      m, "Task", "A task that was submitted. `await t` waits until it is over, and gives what its function returned.")
      .def("_until_over", &submitted::until_over)
      .def_prop_ro(
          "done", [](const submitted& t) { return t.task().done(); }, "Whether it is over.")
      .def_prop_ro(
          "where", [](const submitted& t) { return t.task().where(); },
          "Where it ran or will run; empty before that is known.")
      .def("cancel", [](const submitted& t) { return t.task().cancel(); }, "It need not run. False: it is too late.");
  nb::class_<ix::text_kernels>(m, "_Kernels")
      .def(nb::init<const std::string&, const std::string&>())
      .def("names", &ix::text_kernels::names)
      .def("parameters", &parameters_of)
      .def("fixed_group", [](const ix::text_kernels& all, const std::string& name) {
        const ix::extent3 g = all.get(name).fixed_group;
        return nb::make_tuple(g.x, g.y, g.z);
      });
  m.def("make_object", &make_object);
  m.def("submit_function", &submit_function);
  m.def("submit_kernel", &submit_kernel);
  m.def("all_tasks", [] {
    check_in_job();
    return std::make_shared<wait>([] { return all_over(); });
  });
}

}  // namespace imbrex_python

#include "objects.h"

#include <imbrex/hetero/submission/untyped_task.h>
#include <nanobind/ndarray.h>

#include <type_traits>
#include <variant>

#include "chare_parts.h"
#include "process_domain.h"
#include "proxies.h"
#include "recording.h"

namespace imbrex_python {

ix::access_mode mode_of(const std::string& mode) {
  if (mode == "read") return ix::access_mode::read;
  if (mode == "write") return ix::access_mode::write;
  if (mode == "read_write") return ix::access_mode::read_write;
  if (mode == "commute") return ix::access_mode::commute;
  throw ix::usage_error("there is no access mode '" + mode + "': read, write, read_write, commute");
}

ix::device_kind kind_of(const std::string& name) {
  for (const ix::device_kind k : {ix::device_kind::host, ix::device_kind::cuda, ix::device_kind::opencl}) {
    if (name == ix::to_string(k)) return k;
  }
  throw ix::usage_error("there is no device '" + name + "': host, cuda, opencl");
}

ix::element_operation operation_of(const std::string& name) {
  if (name == "sum") return ix::element_operation::sum;
  if (name == "product") return ix::element_operation::product;
  if (name == "min") return ix::element_operation::min;
  if (name == "max") return ix::element_operation::max;
  throw ix::usage_error("a task does not reduce by '" + name + "': imbrex.sum, product, min, max");
}

ix::number_type number_of(const std::string& dtype) {
  if (dtype == "int32") return ix::number_type::int32;
  if (dtype == "uint32") return ix::number_type::uint32;
  if (dtype == "int64") return ix::number_type::int64;
  if (dtype == "uint64") return ix::number_type::uint64;
  if (dtype == "float32") return ix::number_type::float32;
  if (dtype == "float64") return ix::number_type::float64;
  throw ix::usage_error("tasks do not reduce into an Object of " + dtype +
                        ": int32, uint32, int64, uint64, float32, float64");
}

std::uint8_t places_of(const std::vector<std::string>& where) {
  std::uint8_t places = 0;
  for (const std::string& w : where) {
    const ix::device_kind k = kind_of(w);
    places |= k == ix::device_kind::host ? ix::task_node::on_the_host : ix::task_node::on_devices(k);
  }
  return places;
}

nb::object bytes_of(std::byte* data, std::size_t bytes, bool reads, const std::shared_ptr<bool>& is_kept) {
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

ix::hetero_domain& domain_for(const std::vector<ix::untyped_use>& uses) {
  ix::hetero_domain& d = uses.empty() ? ix::hetero_domain::current() : *uses.front().data->domain;
  if (is_recording() && &d.pe() != ix::executor::current())
    throw ix::usage_error(
        "a window is recorded with objects of its own PE: have the process's first PE record this one");
  return d;
}

namespace {

object_pointer make_object(std::size_t bytes, const nb::object& domain) {
  check_in_job();
  see_to_what_was_left();
  if (domain.is_none()) return std::make_shared<object_handle>(bytes_object(bytes));
  return std::make_shared<object_handle>(bytes_object(nb::cast<const domain_handle&>(domain).here(), bytes));
}

bool is_of_process(const object_handle& o) { return of_all_pes<bytes_object>::is_usable_here(o.here(an_object)); }

/// Its number in the state of the chare that is pickled; -1: it is none of such, but one that goes as a reference.
int keep_in_state(const object_handle& o) {
  chare_parts* const parts = chare_parts::current();
  if (is_of_process(o)) {
    if (parts == nullptr || !parts->is_of_checkpoint()) return -1;
    throw ix::usage_error(
        "an Object of all PEs of the process is in the state of a chare, and is kept in no checkpoint: keep what it "
        "holds, await x.get(), and make it again in restart; leave it out by a __getstate__");
  }
  if (parts == nullptr) {
    throw ix::usage_error(
        "an Object belongs to its PE: send what it holds, `await x.get()`, and make an Object of it there; or make it "
        "with domain=await imbrex.process_domain()");
  }
  return static_cast<int>(parts->keep(o.here(an_object)));
}
object_pointer object_of_state(std::size_t number) {
  const chare_parts* const parts = chare_parts::current();
  if (parts == nullptr) throw ix::usage_error("an Object of a chare's state is read with that chare");
  return std::make_shared<object_handle>(parts->object(number));
}

object_pointer slice_of(const object_handle& o, std::size_t first, std::size_t count) {
  return std::make_shared<object_handle>(o.here(an_object).slice(first, count));
}

void prefetch(const object_handle& o, const std::string& kind, int number) {
  const bytes_object& there = o.here(an_object);
  ix::submit_untyped(*there.domain(), {.name = "prefetch", .on = kind_of(kind), .number = number}, places_of({kind}),
                     {{there.data(), ix::access_mode::read}}, [](const ix::untyped_call&) {});
}

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

}  // namespace

void bind_objects(nb::module_& m) {
  nb::class_<object_handle>(m, "_Object")
      .def("slice", &slice_of)
      .def("keep_in_state", &keep_in_state)
      .def("prefetch", &prefetch)
      .def("evict", [](const object_handle& o) { o.here(an_object).evict(); })
      .def("release", &object_handle::give_up);
  nb::class_<view>(m, "_View")
      .def(nb::init<const object_handle&, const std::string&>())
      .def("begin", &view::begin)
      .def("end", &view::end);
  m.def("object_of_state", &object_of_state);
  m.def("make_object", &make_object, nb::arg("bytes"), nb::arg("domain").none());
}

}  // namespace imbrex_python

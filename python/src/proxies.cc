#include "proxies.h"

namespace imbrex_python {

namespace {

template <class Index>
ix::task<value> call_of(element_of<Index> to, std::string method, value arguments) {
  auto request = to.template call<&python_chare<Index>::answer>(std::move(method), std::move(arguments));
  value v = co_await std::move(request);
  co_return v;
}

template <class Index>
ix::task<value> reduction_of(array_of<Index> of) {
  auto waiting = of.template reduction<contribution>();
  const contribution c = co_await waiting;
  co_return c.what;
}

template <class Proxy>
nb::bytes packed(const Proxy& p) {
  Proxy copy = p;
  const std::vector<std::byte> bytes = ix::to_bytes(copy);
  return nb::bytes(bytes.data(), bytes.size());
}

template <class Proxy>
void unpack(Proxy& p, const nb::bytes& from) {
  new (&p) Proxy();
  const auto* const first = static_cast<const std::byte*>(from.data());
  ix::from_bytes(std::vector<std::byte>(first, first + from.size()), p);
}

template <class Index>
void bind_element(nb::module_& m, const char* name) {
  using proxy = element_of<Index>;
  nb::class_<proxy>(m, name)
      .def("_send",
           [](const proxy& p, std::string method, const nb::object& arguments) {
             check_in_job();
             p.template send<&python_chare<Index>::receive>(std::move(method), value(arguments));
           })
      .def("_call",
           [](const proxy& p, std::string method, const nb::object& arguments) {
             check_in_job();
             return std::make_shared<wait>([p, method, v = value(arguments)] { return call_of<Index>(p, method, v); });
           })
      .def_prop_ro(
          "index", [](const proxy& p) { return to_python(p.index()); }, "Where it is in its array.")
      .def(
          "erase", [](const proxy& p) { check_in_job(), p.erase(); }, "Ends the chare, wherever it is.")
      .def("__getstate__", &packed<proxy>)
      .def("__setstate__", &unpack<proxy>);
}

template <class Index, class... Extent>
void bind_array(nb::module_& m, const char* name) {
  using proxy = array_of<Index>;
  nb::class_<proxy>(m, name)
      .def("_at", [](const proxy& p, Extent... i) { return p[Index{i...}]; })
      .def("_broadcast",
           [](const proxy& p, std::string method, const nb::object& arguments) {
             check_in_job();
             p.template broadcast<&python_chare<Index>::receive>(std::move(method), value::pickled(arguments));
           })
      .def(
          "reduction", [](const proxy& p) { return std::make_shared<wait>([p] { return reduction_of<Index>(p); }); },
          "`await array.reduction()`: what all elements have contributed next, combined.")
      .def("__getstate__", &packed<proxy>)
      .def("__setstate__", &unpack<proxy>);
}

}  // namespace

void bind_proxies(nb::module_& m) {
  bind_element<ix::no_index>(m, "Single");
  bind_element<ix::index1d>(m, "Element1");
  bind_element<ix::index2d>(m, "Element2");
  bind_element<ix::index3d>(m, "Element3");
  bind_array<ix::index1d, int>(m, "Array1");
  bind_array<ix::index2d, int, int>(m, "Array2");
  bind_array<ix::index3d, int, int, int>(m, "Array3");
  nb::class_<chare_interface>(m, "_Chare")
      .def_prop_ro("index", &chare_interface::my_index)
      .def_prop_ro("extent", &chare_interface::my_extent)
      .def_prop_ro("proxy", &chare_interface::my_proxy)
      .def_prop_ro("array", &chare_interface::my_array)
      .def_prop_ro("pe", &chare_interface::my_pe)
      .def_prop_ro("rank", &chare_interface::my_rank)
      .def_prop_ro("num_pes", &chare_interface::count_pes)
      .def("contribute",
           [](chare_interface& c, const nb::object& what, const nb::object& op) { c.add({value(what), value(op)}); })
      .def("allreduce", [](chare_interface& c, const nb::object& what,
                           const nb::object& op) { return c.reduce_all({value(what), value(op)}); })
      .def("barrier", &chare_interface::meet)
      .def("migrate_to", &chare_interface::move_to)
      .def("destroy", &chare_interface::end)
      .def("channel", &chare_interface::open_channel);
}

}  // namespace imbrex_python

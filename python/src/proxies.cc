#include "proxies.h"

#include <fmt/format.h>

namespace imbrex_python {

namespace {

template <class Index>
ix::task<value> call_of(element_of<Index> to, name_of_python method, value arguments) {
  auto request = to.template call<&python_chare<Index>::answer>(method, std::move(arguments));
  value v = co_await std::move(request);
  co_return v;
}

template <class Of>
ix::task<value> reduction_of(Of of) {
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
           [](const proxy& p, const std::string& method, const nb::object& arguments) {
             p.here(a_proxy).template send<&python_chare<Index>::receive>(name_of_python(method), value(arguments));
           })
      .def("_call",
           [](const proxy& p, const std::string& method, const nb::object& arguments) {
             static_cast<void>(p.here(a_proxy));
             return std::make_shared<wait>(
                 [p, m = name_of_python(method), v = value(arguments)] { return call_of<Index>(p, m, v); },
                 "proxy.call.method(...), which sends nothing until then,");
           })
      .def_prop_ro(
          "index", [](const proxy& p) { return to_python(p.index()); }, "Where it is in its array.")
      .def(
          "erase", [](const proxy& p) { p.here(a_proxy).erase(); }, "Ends the chare, wherever it is.")
      .def("_key", &packed<proxy>)
      .def("__getstate__", &packed<proxy>)
      .def("__setstate__", &unpack<proxy>);
}

template <class Index>
void bind_section(nb::module_& m, const char* name) {
  using proxy = section_of<Index>;
  nb::class_<proxy>(m, name)
      .def("_broadcast",
           [](const proxy& p, const std::string& method, const nb::object& arguments) {
             p.here(a_proxy).template broadcast<&python_chare<Index>::receive>(name_of_python(method),
                                                                               value::copied(arguments));
           })
      .def(
          "reduction",
          [](const proxy& p) {
            static_cast<void>(p.here(a_proxy));
            return std::make_shared<wait>([p] { return reduction_of(p); }, "section.reduction()");
          },
          "`await section.reduction()`: what its members have contributed to it next, combined.")
      .def(
          "free", [](const proxy& p) { p.here("this section").free(); },
          "Ends the section, once what was sent to it before has passed.")
      .def("_key", &packed<proxy>)
      .def("__getstate__", &packed<proxy>)
      .def("__setstate__", &unpack<proxy>);
}

/// Of a number, or a tuple of numbers.
template <class Index>
Index index_of(nb::handle h) {
  const std::vector<int> i = whole_numbers(h, "an index");
  constexpr std::size_t dimensions = std::is_same_v<Index, ix::index1d>   ? 1
                                     : std::is_same_v<Index, ix::index2d> ? 2
                                                                          : 3;
  if (i.size() != dimensions) {
    throw ix::usage_error(
        fmt::format("{} is an index of {} dimensions, and the array has {}", shown(h), i.size(), dimensions));
  }
  for (const int n : i) {
    if (n < 0) throw ix::usage_error(fmt::format("{} is no index of an array: they count from 0", shown(h)));
  }
  if constexpr (dimensions == 1) {
    return Index(i[0]);
  } else if constexpr (dimensions == 2) {
    return {i[0], i[1]};
  } else {
    return {i[0], i[1], i[2]};
  }
}

enum class placing { at_home, on_pe, if_absent };

/// A new element of an array: how it is placed, on which PE, its index, and what it is made with.
template <class Index>
struct newcomer {
  array_of<Index> array;
  placing how;
  ix::pe_id pe;
  Index index;
  made_with what;

  auto insert() const {
    const auto& to = array.here(a_proxy);
    switch (how) {
      case placing::on_pe: return to.insert_on(pe, index, what);
      case placing::if_absent: return to.insert_if_absent(index, what);
      default: return to.insert(index, what);
    }
  }
};

template <class Index>
ix::task<value> until_inserted(newcomer<Index> n) {
  auto made = n.insert();
  co_await made;
  co_return value();
}

/// `placed`: none, "if absent" or a PE. It is made whether or not what this gives is awaited.
template <class Index>
wait_pointer insert(const array_of<Index>& array, const nb::object& placed, const nb::object& index,
                    const nb::object& made) {
  newcomer<Index> n{array, placing::at_home, 0, index_of<Index>(index), made_of(made)};
  static_cast<void>(array.here(a_proxy));
  if (nb::isinstance<nb::str>(placed)) {
    n.how = placing::if_absent;
  } else if (!placed.is_none()) {
    n.how = placing::on_pe;
    n.pe = pe_of_job(placed);
  }
  return std::make_shared<wait>([n] { return until_inserted(n); }, [n] { static_cast<void>(n.insert()); });
}

template <class Index>
void bind_array(nb::module_& m, const char* name) {
  using proxy = array_of<Index>;
  nb::class_<proxy>(m, name)
      .def("__getitem__",
           [](const proxy& p, const nb::object& i) { return element_of<Index>(p.here(a_proxy)[index_of<Index>(i)]); })
      .def("_broadcast",
           [](const proxy& p, const std::string& method, const nb::object& arguments) {
             p.here(a_proxy).template broadcast<&python_chare<Index>::receive>(name_of_python(method),
                                                                               value::copied(arguments));
           })
      .def(
          "reduction",
          [](const proxy& p) {
            static_cast<void>(p.here(a_proxy));
            return std::make_shared<wait>([p] { return reduction_of(p); }, "array.reduction()");
          },
          "`await array.reduction()`: what all elements have contributed next, combined.")
      .def(
          "section",
          [](const proxy& p, const nb::object& indices) {
            std::vector<Index> members;
            if (!nb::hasattr(indices, "__iter__"))
              throw ix::usage_error(shown(indices) + " are no indices: array.section([...]) names its members");
            for (const nb::handle h : indices) members.push_back(index_of<Index>(h));
            return section_of<Index>(p.here(a_proxy).section(std::move(members)));
          },
          "`s = array.section(indices)`: a subset of the elements, with `s.broadcast.method(...)` and reductions of "
          "its "
          "own: `self.contribute(value, op, section=s)`, `await s.reduction()`. Lives until `s.free()`.")
      .def("_insert", &insert<Index>, nb::arg("placed").none(), nb::arg("index"), nb::arg("made"))
      .def(
          "destroy", [](const proxy& p) { p.here(a_proxy).destroy(); },
          "Ends all elements that there are, wherever they are; others may be inserted later.")
      .def("_key", &packed<proxy>)
      .def("__getstate__", &packed<proxy>)
      .def("__setstate__", &unpack<proxy>);
}

}  // namespace

void bind_proxies(nb::module_& m) {
  bind_element<ix::no_index>(m, "Single");
  bind_element<ix::index1d>(m, "Element1");
  bind_element<ix::index2d>(m, "Element2");
  bind_element<ix::index3d>(m, "Element3");
  bind_section<ix::index1d>(m, "Section1");
  bind_section<ix::index2d>(m, "Section2");
  bind_section<ix::index3d>(m, "Section3");
  bind_array<ix::index1d>(m, "Array1");
  bind_array<ix::index2d>(m, "Array2");
  bind_array<ix::index3d>(m, "Array3");
  nb::class_<chare_interface>(m, "_Chare")
      .def_prop_ro("index", &chare_interface::my_index)
      .def_prop_ro("extent", &chare_interface::my_extent)
      .def_prop_ro("proxy", &chare_interface::my_proxy)
      .def_prop_ro("array", &chare_interface::my_array)
      .def_prop_ro("pe", &chare_interface::my_pe)
      .def_prop_ro("rank", &chare_interface::my_rank)
      .def_prop_ro("num_pes", &chare_interface::count_pes)
      .def_prop_ro("gpu", &chare_interface::my_gpu)
      .def(
          "contribute",
          [](chare_interface& c, const nb::object& what, const nb::object& op, const nb::object& section) {
            c.add({value(what), value(op)}, section);
          },
          nb::arg("value").none(), nb::arg("op"), nb::arg("section").none())
      .def(
          "allreduce",
          [](chare_interface& c, const nb::object& what, const nb::object& op, const nb::object& section) {
            return c.reduce_all({value(what), value(op)}, section);
          },
          nb::arg("value").none(), nb::arg("op"), nb::arg("section").none())
      .def("barrier", &chare_interface::meet)
      .def("checkpoint_point", &chare_interface::come_to_point)
      .def_prop_ro("runtime", &chare_interface::my_runtime)
      .def("migrate_to", [](chare_interface& c, const nb::object& pe) { c.move_to(pe_of_job(pe)); })
      .def("destroy", &chare_interface::end)
      .def("channel", &chare_interface::open_channel);
}

}  // namespace imbrex_python

#include <fmt/format.h>
#include <imbrex/clock.h>

#include "home.h"
#include "proxies.h"

namespace imbrex_python {

namespace {

template <class Index>
nb::object make_array(ix::runtime& rt, const Index& extent, const made_with& made) {
  return nb::cast(array_of<Index>(rt.create_array<python_chare<Index>>(extent, made)));
}

nb::object create_array(const runtime_handle& of, const nb::object& extent, const nb::object& made) {
  ix::runtime& rt = of.here();
  const std::vector<int> n = whole_numbers(extent, "an array's extent");
  const made_with all = made_of(made);
  switch (n.size()) {
    case 1: return make_array(rt, ix::index1d(n[0]), all);
    case 2: return make_array(rt, ix::index2d{n[0], n[1]}, all);
    case 3: return make_array(rt, ix::index3d{n[0], n[1], n[2]}, all);
    default: throw ix::usage_error(fmt::format("an array of chares has one to three dimensions, not {}", n.size()));
  }
}

template <class Index>
nb::object make_empty_array(ix::runtime& rt) {
  return nb::cast(array_of<Index>(rt.create_array<python_chare<Index>>(ix::empty_array<Index>())));
}

nb::object empty_array(const runtime_handle& of, const nb::object& dimensions) {
  ix::runtime& rt = of.here();
  switch (const int n = whole_number(dimensions, "a number of dimensions"); n) {
    case 1: return make_empty_array<ix::index1d>(rt);
    case 2: return make_empty_array<ix::index2d>(rt);
    case 3: return make_empty_array<ix::index3d>(rt);
    default: throw ix::usage_error(fmt::format("an array of chares has one to three dimensions, not {}", n));
  }
}

template <auto M>
auto of_job() {
  return [](const runtime_handle& rt) { return (rt.here().*M)(); };
}

ix::task<value> until_quiet(ix::runtime* rt) {
  auto waiting = rt->quiescence();
  co_await waiting;
  co_return value();
}

ix::task<value> checkpoint_of(ix::runtime* rt, std::string folder) {
  auto made = rt->checkpoint(std::move(folder));
  const std::string path = co_await made;
  const with_python here;
  co_return value(nb::cast(path));
}

ix::task<value> at_point(ix::runtime* rt) {
  auto point = rt->checkpoint_point();
  const bool made = co_await point;
  const with_python here;
  co_return value(nb::bool_(made));
}

}  // namespace

void bind_runtime(nb::module_& m) {
  nb::class_<wait>(m, "Wait");
  nb::class_<future>(m, "Future")
      .def("__init__", [](future* f, std::string what) { new (f) future(std::move(what)); })
      .def("set", &future::set, nb::arg("value").none())
      .def_prop_ro("is_set", &future::is_set)
      .def("wait", &future::wait_for);
  // What `begin` gives is awaited in its place, and made when this is awaited.
  m.def("later", [](const nb::object& begin, std::string what) {
    return std::make_shared<wait>([begin = value(begin), what = std::move(what)] {
      const with_python here;
      const wait_pointer w = wait_of(begin.get()());
      if (w == nullptr) throw ix::usage_error(what + " is nothing to wait for");
      return w->go();
    });
  });
  m.def("gather", &gather);
  nb::class_<runtime_handle>(m, "Runtime", "What a program sees of the job that it runs in.")
      .def("__getstate__", [](const runtime_handle&) { return nb::make_tuple(true); })
      .def("__setstate__",
           [](runtime_handle& rt, const nb::tuple&) {
             check_in_job();
             new (&rt) runtime_handle(*ix::scheduler::current().rank().facade);
           })
      .def_prop_ro("num_pes", of_job<&ix::runtime::num_pes>())
      .def_prop_ro("num_ranks", of_job<&ix::runtime::num_ranks>())
      .def_prop_ro("pes_per_rank", of_job<&ix::runtime::pes_per_rank>())
      .def_prop_ro("num_gpus", of_job<&ix::runtime::num_gpus>())
      .def_prop_ro("transport", of_job<&ix::runtime::transport_name>())
      .def("_create_array", &create_array)
      .def("_empty_array", &empty_array)
      .def("_create",
           [](const runtime_handle& rt, const nb::object& made) {
             return element_of<ix::no_index>(rt.here().create<python_chare<ix::no_index>>(made_of(made)));
           })
      .def(
          "quiescence",
          [](const runtime_handle& rt) {
            return std::make_shared<wait>([at = &rt.here()] { return until_quiet(at); }, "rt.quiescence()");
          },
          "`await rt.quiescence()`: until nothing is under way any more but coroutines that wait.")
      .def(
          "exit",
          [](const runtime_handle& rt, const nb::object& code) { rt.here().exit(whole_number(code, "an exit code")); },
          "Ends the job now, on all ranks, with this exit code.")
      .def(
          "checkpoint",
          [](const runtime_handle& rt, const std::string& folder) {
            return std::make_shared<wait>([at = &rt.here(), folder] { return checkpoint_of(at, folder); },
                                          "rt.checkpoint()");
          },
          nb::arg("folder") = "",
          "`path = await rt.checkpoint(folder)`, in the main chare, when nothing is under way but what ends by itself: "
          "makes a checkpoint in that folder of checkpoints, or in that of `--imbrex-checkpoint`. Its path, once it is "
          "on the disk. For programs that are objects with `start` and `restart`.")
      .def(
          "checkpoint_point",
          [](const runtime_handle& rt) {
            return std::make_shared<wait>([at = &rt.here()] { return at_point(at); }, "rt.checkpoint_point()");
          },
          "`await rt.checkpoint_point()`, in the main chare, at such a moment: makes a checkpoint if one is due (with "
          "`--imbrex-checkpoint`), and goes on while it is written. Whether one was made.")
      .def(
          "resize",
          [](const runtime_handle& rt, const nb::object& pes) {
            rt.here().resize(whole_number(pes, "a number of PEs"));
          },
          nb::arg("pes_per_rank"),
          "At the next checkpoint point the job goes on with so many PEs of each rank, in the same processes: it "
          "begins again by the program's `restart`, with the chares as they are then.");
  m.def("clock", [] { return std::chrono::duration<double>(ix::clock::now().time_since_epoch()).count(); });
}

}  // namespace imbrex_python

#include <fmt/format.h>
#include <imbrex/clock.h>

#include "home.h"
#include "proxies.h"
#include "signals.h"
#include "tasks/process_domain.h"
#include "tasks/recording.h"
#include "tasks/reductions.h"

namespace imbrex_python {

namespace {

template <class Index>
nb::object make_array(ix::runtime& rt, const Index& extent, const made_with& made) {
  return nb::cast(array_of<Index>(rt.create_array<python_chare<Index>>(extent, made)));
}

/// Of class, arguments and named arguments.
made_with copy_of(const nb::object& made) {
  const nb::object cls = nb::cast<nb::tuple>(made)[0];
  return {name_of_python(nb::cast<std::string>(cls.attr("__qualname__"))), value::pickled(made)};
}

nb::object create_array(const runtime_handle& of, const nb::object& extent, const nb::object& made) {
  ix::runtime& rt = of.here();
  const std::vector<int> n = whole_numbers(extent, "an array's extent");
  const made_with all = copy_of(made);
  switch (n.size()) {
    case 1: return make_array(rt, ix::index1d(n[0]), all);
    case 2: return make_array(rt, ix::index2d{n[0], n[1]}, all);
    case 3: return make_array(rt, ix::index3d{n[0], n[1], n[2]}, all);
    default: throw ix::usage_error(fmt::format("an array of chares has one to three dimensions, not {}", n.size()));
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

/// The main chare.
ix::task<int> start(ix::runtime& rt, std::vector<std::string> words, PyObject* main) {
  owned coroutine;
  {
    const with_python here;
    try {
      const nb::object result =
          nb::module_::import_("imbrex._run").attr("begin")(nb::handle(main), runtime_handle(rt), words);
      coroutine = owned(nb::object(result).release().ptr());
    } catch (nb::python_error& e) {
      throw python_failure::of(e, "the main chare");
    }
  }
  auto run = drive(std::move(coroutine), "the main chare");
  const value result = co_await std::move(run);
  const with_python here;
  const nb::object returned = result.get();
  int code = 0;
  if (!returned.is_none() && !nb::try_cast(returned, code)) {
    throw ix::usage_error("the main chare has returned " + shown(returned) + ": an exit code, or nothing");
  }
  co_return code;
}

int run_without_lock(int argc, char** argv, PyObject* main) {
  const nb::gil_scoped_release others_may;
  struct at_the_end {
    ~at_the_end() { job_is_over(); }
  } const over;
  return ix::run(argc, argv,
                 [main](ix::runtime& rt, std::vector<std::string> left) { return start(rt, std::move(left), main); });
}

/// Words as `main` has them.
int run(std::vector<std::string> words, const nb::object& main) {
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(words.size());
  const int code = run_without_lock(argc, argv.data(), main.ptr());
  throw_what_signals_threw();
  return code;
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
      .def_prop_ro("num_pes", of_job<&ix::runtime::num_pes>())
      .def_prop_ro("num_ranks", of_job<&ix::runtime::num_ranks>())
      .def_prop_ro("pes_per_rank", of_job<&ix::runtime::pes_per_rank>())
      .def_prop_ro("num_gpus", of_job<&ix::runtime::num_gpus>())
      .def_prop_ro("transport", of_job<&ix::runtime::transport_name>())
      .def("_create_array", &create_array)
      .def("_create",
           [](const runtime_handle& rt, const nb::object& made) {
             return element_of<ix::no_index>(rt.here().create<python_chare<ix::no_index>>(copy_of(made)));
           })
      .def(
          "quiescence",
          [](const runtime_handle& rt) {
            return std::make_shared<wait>([at = &rt.here()] { return until_quiet(at); }, "rt.quiescence()");
          },
          "`await rt.quiescence()`: until nothing is under way any more but coroutines that wait.")
      .def(
          "exit", [](const runtime_handle& rt, int code) { rt.here().exit(code); },
          "Ends the job now, on all ranks, with this exit code.");
  m.def("clock", [] { return std::chrono::duration<double>(ix::clock::now().time_since_epoch()).count(); });
  m.def("run", &run);
}

}  // namespace imbrex_python

NB_MODULE(_imbrex, m) {
  using namespace imbrex_python;
  nb::set_leak_warnings(false);  // a task in a global variable of the program is none
  bind_runtime(m);
  bind_signals(m);
  bind_proxies(m);
  bind_channels(m);
  bind_process_domain(m);
  bind_objects(m);
  bind_tasks(m);
  bind_reductions(m);
  bind_windows(m);
  bind_graphs(m);
  nb::register_exception_translator(
      [](const std::exception_ptr& e, void*) {
        try {
          std::rethrow_exception(e);
        } catch (const imbrex::usage_error& f) {
          PyErr_SetString(nb::module_::import_("imbrex").attr("UsageError").ptr(), f.what());
        } catch (const imbrex::error& f) {
          PyErr_SetString(nb::module_::import_("imbrex").attr("Error").ptr(), f.what());
        }
      },
      nullptr);
}

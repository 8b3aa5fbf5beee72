#include <fmt/format.h>
#include <imbrex/task_graph.h>
#include <imbrex/text_kernels.h>

#include <utility>

#include "names.h"
#include "objects.h"
#include "proxies.h"
#include "reductions.h"
#include "submitted.h"

namespace imbrex_python {

namespace {

using objects_of_graph = ix::distributed<std::byte, ix::index3d>;

/// What the map of Python said for each object, x fastest.
struct given_owners {
  std::vector<int> owners;
  int operator()(const ix::index3d& i, const ix::index3d& extent, int) const {
    return owners[static_cast<std::size_t>(ix::linear(i, extent))];
  }
};

/// A graph while its coroutine of Python runs, and the objects made there.
struct open_graph {
  ix::task_graph& of;
  std::vector<std::unique_ptr<objects_of_graph>> sets;
};

/// What Python has of it, wherever that goes.
class graph_handle {
 public:
  explicit graph_handle(std::weak_ptr<of_home<std::unique_ptr<open_graph>>> g) : graph_(std::move(g)) {}
  open_graph& here() const {
    check_in_job();
    const auto g = graph_.lock();
    if (g == nullptr) throw ix::usage_error("this graph is over: its coroutine has ended");
    return *g->here("a graph");
  }

  /// `bytes` and `owners` of each, x fastest.
  std::size_t make_objects(const ix::index3d& extent, const std::vector<std::size_t>& bytes,
                           std::vector<int> owners) const {
    open_graph& g = here();
    const auto size = [&](const ix::index3d& i) { return bytes.at(static_cast<std::size_t>(ix::linear(i, extent))); };
    g.sets.push_back(std::make_unique<objects_of_graph>(g.of, extent, size, given_owners{std::move(owners)}));
    return g.sets.size() - 1;
  }
  /// (set, x, y, z).
  ix::distributed_ref<std::byte> object(const nb::handle& which) const {
    const auto t = nb::cast<nb::tuple>(which);
    const auto at = [&](std::size_t i) { return nb::cast<int>(t[i]); };
    return (*here().sets.at(nb::cast<std::size_t>(t[0])))[ix::index3d{at(1), at(2), at(3)}];
  }

 private:
  std::weak_ptr<of_home<std::unique_ptr<open_graph>>> graph_;
};

struct graph_options {
  explicit graph_options(const nb::tuple& t) : name(nb::cast<std::string>(t[0])) {
    options.priority = nb::cast<int>(t[1]);
    if (!t[2].is_none()) options.on = kind_of(nb::cast<std::string>(t[2]));
    options.number = nb::cast<int>(t[3]);
    options.rank = nb::cast<int>(t[4]);
    if (!name.empty()) options.name = name;
  }
  graph_options(const graph_options&) = delete;
  std::string name;
  ix::graph_task_options options;
};

/// Of ((set, x, y, z), mode), or of ((set, x, y, z), "reduce", (operation, dtype, parts)).
ix::untyped_graph_use use_of(const graph_handle& g, const nb::tuple& t) {
  const auto mode = nb::cast<std::string>(t[1]);
  if (mode != "reduce") return {g.object(t[0]), mode_of(mode)};
  return {g.object(t[0]), ix::access_mode::read_write, reduction_of(t[2])};
}

std::vector<ix::untyped_graph_use> uses_of(const graph_handle& g, const nb::list& given) {
  std::vector<ix::untyped_graph_use> uses;
  for (const nb::handle h : given) uses.push_back(use_of(g, nb::cast<nb::tuple>(h)));
  return uses;
}

/// None where it does not run.
nb::object on_its_rank(ix::hetero_task t, const std::shared_ptr<outcome>& o) {
  if (t.node() == nullptr) return nb::none();
  return nb::cast(std::make_shared<submitted>(std::move(t), o, false));
}

nb::object submit_function(const graph_handle& g, const nb::object& f, const std::vector<std::string>& where,
                           const nb::list& given, const std::vector<std::size_t>& bytes, const nb::tuple& options) {
  ix::task_graph& graph = g.here().of;
  see_to_what_was_left();
  const graph_options o(options);
  const std::vector<ix::untyped_graph_use> uses = uses_of(g, given);
  std::vector<std::pair<std::size_t, bool>> objects;
  for (std::size_t i = 0; i < uses.size(); ++i)
    objects.emplace_back(bytes.at(i), !uses[i].reduces && uses[i].mode == ix::access_mode::read);
  const auto result = std::make_shared<outcome>();
  return on_its_rank(ix::submit_untyped(graph, o.options, places_of(where), uses,
                                        python_function(value(f), o.name, std::move(objects), result)),
                     result);
}

nb::object submit_kernel(const graph_handle& g, const ix::text_kernels& all, const std::string& name,
                         const nb::tuple& shape, const nb::list& given, const std::vector<nb::object>& values,
                         const nb::tuple& options) {
  ix::task_graph& graph = g.here().of;
  see_to_what_was_left();
  const graph_options o(options);
  return on_its_rank(
      ix::submit_untyped(graph, o.options, all.get(name), shape_of(shape), uses_of(g, given), bytes_of_values(values)),
      nullptr);
}

ix::task<value> until_done(ix::task_graph* g) {
  auto waiting = g->done();
  co_await waiting;
  co_return value();
}
ix::task<value> until_fewer(ix::task_graph* g, std::uint64_t n) {
  auto waiting = g->fewer_tasks_than(n);
  co_await waiting;
  co_return value();
}
ix::task<value> until_all_ranks(ix::task_graph* g) {
  auto waiting = ix::barrier(*g);
  co_await std::move(waiting);
  co_return value();
}
ix::task<value> bytes_on_all_ranks(ix::task_graph* g, ix::distributed_ref<std::byte> x) {
  auto waiting = ix::values(*g, x);
  const std::vector<std::byte> bytes = co_await std::move(waiting);
  const with_python here;
  co_return value(nb::bytes(bytes.data(), bytes.size()));
}

// ------------------------------------------------------------------------------------------------ the coroutine

/// On every rank. `made`: a function, its arguments, and named ones.
ix::task<value> submit_graph(ix::task_graph& g, name_of_python name, value made) {
  const auto open =
      std::make_shared<of_home<std::unique_ptr<open_graph>>>(std::unique_ptr<open_graph>(new open_graph{g, {}}));
  owned coroutine;
  {
    const with_python here;
    try {
      const nb::object begun = nb::module_::import_("imbrex._graphs").attr("begin")(made.get(), graph_handle(open));
      coroutine = owned(nb::object(begun).release().ptr());
    } catch (nb::python_error& e) {
      throw python_failure::of(e, name.get());
    }
  }
  auto run = drive(std::move(coroutine), name.get());
  value result = co_await std::move(run);
  if (g.rank() != 0) co_return value();  // only rank 0's is asked for
  co_return result;
}

ix::task<value> run_graph(ix::runtime* rt, name_of_python name, value made) {
  auto running = ix::run_graph<&submit_graph>(*rt, name, made);
  value result = co_await std::move(running);
  co_return result;
}

}  // namespace

void bind_graphs(nb::module_& m) {
  nb::class_<graph_handle>(m, "_Graph")
      .def_prop_ro("rank", [](const graph_handle& g) { return g.here().of.rank(); })
      .def_prop_ro("num_ranks", [](const graph_handle& g) { return g.here().of.num_ranks(); })
      .def("make_objects",
           [](const graph_handle& g, int nx, int ny, int nz, const std::vector<std::size_t>& bytes,
              std::vector<int> owners) { return g.make_objects({nx, ny, nz}, bytes, std::move(owners)); })
      .def("owner", [](const graph_handle& g, const nb::tuple& which) { return g.object(which).owner(); })
      .def("migrate",
           [](const graph_handle& g, const nb::tuple& which, int to) { g.here().of.migrate(g.object(which), to); })
      .def("evict", [](const graph_handle& g, const nb::tuple& which) { g.here().of.evict(g.object(which)); })
      .def("submit_function", &submit_function)
      .def("submit_kernel", &submit_kernel)
      .def("done",
           [](const graph_handle& g) {
             return std::make_shared<wait>([graph = &g.here().of] { return until_done(graph); }, "graph.done()");
           })
      .def("fewer_tasks_than",
           [](const graph_handle& g, std::uint64_t n) {
             return std::make_shared<wait>([graph = &g.here().of, n] { return until_fewer(graph, n); });
           })
      .def("barrier",
           [](const graph_handle& g) {
             return std::make_shared<wait>([graph = &g.here().of] { return until_all_ranks(graph); },
                                           "graph.barrier()");
           })
      .def("values", [](const graph_handle& g, const nb::tuple& which) {
        return std::make_shared<wait>(
            [graph = &g.here().of, x = g.object(which)] { return bytes_on_all_ranks(graph, x); });
      });
  m.def("run_graph", [](const runtime_handle& rt, const std::string& name, const nb::object& made) {
    return std::make_shared<wait>(
        [at = &rt.here(), n = name_of_python(name), v = value::for_all_ranks(made)] { return run_graph(at, n, v); },
        "run_graph(...)");
  });
}

}  // namespace imbrex_python

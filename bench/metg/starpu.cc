// METG of StarPU's tasks with dependences by data, beside chares.cc:
//   STARPU_NCPU=2 STARPU_SILENT=1 build/default/bin/bench_metg_starpu [points a worker, 4]
#include <starpu.h>

#include <string>
#include <vector>

#include "metg/metg.h"

namespace {

void run(void** buffers, void* argument) {
  const auto rounds = *static_cast<std::int64_t*>(argument);
  auto* const out = reinterpret_cast<double*>(STARPU_VARIABLE_GET_PTR(buffers[0]));
  *out = metg::work(rounds, 1.0);
}

/// One, two or three inputs.
starpu_codelet codelet_of(int inputs) {
  starpu_codelet c;
  starpu_codelet_init(&c);
  c.cpu_funcs[0] = run;
  c.nbuffers = inputs + 1;
  c.modes[0] = STARPU_W;
  for (int i = 1; i <= inputs; ++i) c.modes[i] = STARPU_R;
  return c;
}

double seconds_of(const metg::graph& g, std::int64_t* rounds) {
  static starpu_codelet codelets[4] = {codelet_of(0), codelet_of(1), codelet_of(2), codelet_of(3)};
  const auto width = static_cast<std::size_t>(g.width);
  std::vector<double> values(2 * width, 1.0);
  std::vector<starpu_data_handle_t> handles(2 * width);
  for (std::size_t i = 0; i < handles.size(); ++i)
    starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(&values[i]),
                                  sizeof(double));
  const auto began = std::chrono::steady_clock::now();
  for (int step = 0; step < g.steps; ++step) {
    const std::size_t from = step % 2 != 0 ? width : 0, to = width - from;
    for (int p = 0; p < g.width; ++p) {
      starpu_task* const t = starpu_task_create();
      int num = 0;
      g.each_input(step, p, [&](int i) { t->handles[++num] = handles[from + static_cast<std::size_t>(i)]; });
      t->handles[0] = handles[to + static_cast<std::size_t>(p)];
      t->cl = &codelets[num];
      t->cl_arg = rounds;
      t->cl_arg_size = sizeof *rounds;
      if (starpu_task_submit(t) != 0) std::abort();
    }
  }
  starpu_task_wait_for_all();
  const double seconds = metg::seconds_since(began);
  for (starpu_data_handle_t h : handles) starpu_data_unregister(h);
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  if (starpu_init(nullptr) != 0) return 77;
  const int cores = static_cast<int>(starpu_cpu_worker_get_count());
  const int width = metg::width_of(argc > 1 ? std::stoi(argv[1]) : 4, cores);
  const double round = metg::seconds_of_round();
  for (const metg::pattern kind : metg::all_patterns) {
    for (metg::search s("StarPU", kind, width, cores, round); s.wants();) {
      std::int64_t rounds = s.rounds();
      s.tell(seconds_of(s.what(), &rounds));
    }
  }
  starpu_shutdown();
}

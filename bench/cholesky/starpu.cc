// The same tiles and priorities by StarPU: `STARPU_NCPU=2 STARPU_SCHED=prio bench_cholesky_starpu --n=4096 --tile=256`.
#include <starpu.h>

#include "cholesky/tiles.h"

namespace {

double* at(void** buffers, int i) { return reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffers[i])); }
int tile_of(void* arg) {
  int b = 0;
  starpu_codelet_unpack_args(arg, &b);
  return b;
}
void potrf(void** buffers, void* arg) { cholesky::potrf(at(buffers, 0), tile_of(arg)); }
void trsm(void** buffers, void* arg) { cholesky::trsm(at(buffers, 0), at(buffers, 1), tile_of(arg)); }
void syrk(void** buffers, void* arg) { cholesky::syrk(at(buffers, 0), at(buffers, 1), tile_of(arg)); }
void gemm(void** buffers, void* arg) { cholesky::gemm(at(buffers, 0), at(buffers, 1), at(buffers, 2), tile_of(arg)); }

starpu_codelet codelet_of(starpu_cpu_func_t f, const char* name, std::vector<starpu_data_access_mode> modes,
                          starpu_perfmodel* model) {
  starpu_codelet c;
  starpu_codelet_init(&c);
  c.cpu_funcs[0] = f;
  c.nbuffers = static_cast<int>(modes.size());
  for (std::size_t i = 0; i < modes.size(); ++i) c.modes[i] = modes[i];
  c.name = name;
  std::fill_n(reinterpret_cast<char*>(model), sizeof *model, 0);
  model->type = STARPU_HISTORY_BASED;
  model->symbol = name;
  c.model = model;
  return c;
}

}  // namespace

int main(int argc, char** argv) {
  const cholesky::options o = cholesky::options_of(argc, argv);
  openblas_set_num_threads(1);
  if (starpu_init(nullptr) != 0) return 77;
  const int b = o.tile, nt = o.n / b;
  starpu_perfmodel models[4];
  starpu_codelet potrfs = codelet_of(&potrf, "cholesky_potrf", {STARPU_RW}, &models[0]);
  starpu_codelet trsms = codelet_of(&trsm, "cholesky_trsm", {STARPU_R, STARPU_RW}, &models[1]);
  starpu_codelet syrks = codelet_of(&syrk, "cholesky_syrk", {STARPU_R, STARPU_RW}, &models[2]);
  starpu_codelet gemms = codelet_of(&gemm, "cholesky_gemm", {STARPU_R, STARPU_R, STARPU_RW}, &models[3]);
  const std::size_t size = static_cast<std::size_t>(b) * b;
  std::vector<std::vector<double>> tiles(static_cast<std::size_t>(nt) * nt);
  std::vector<starpu_data_handle_t> handles(tiles.size());
  const auto place = [nt](int i, int j) { return static_cast<std::size_t>(j) * nt + i; };
  for (int i = 0; i < nt; ++i) {
    for (int j = 0; j <= i; ++j) {
      auto& t = tiles[place(i, j)];
      t.resize(size);
      starpu_vector_data_register(&handles[place(i, j)], STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(t.data()), size,
                                  sizeof(double));
    }
  }
  const auto tile = [&](int i, int j) { return handles[place(i, j)]; };
  std::vector<double> seconds;
  for (int repeat = 0; repeat <= o.repeats; ++repeat) {
    for (int i = 0; i < nt; ++i) {
      for (int j = 0; j <= i; ++j) {
        starpu_data_acquire(tile(i, j), STARPU_W);
        cholesky::fill(tiles[place(i, j)].data(), i, j, b, o.n);
        starpu_data_release(tile(i, j));
      }
    }
    const std::int64_t start = cholesky::now_ns();
    for (int k = 0; k < nt; ++k) {
      starpu_task_insert(&potrfs, STARPU_RW, tile(k, k), STARPU_VALUE, &b, sizeof b, STARPU_PRIORITY,
                         cholesky::priority_of_potrf, 0);
      for (int i = k + 1; i < nt; ++i) {
        starpu_task_insert(&trsms, STARPU_R, tile(k, k), STARPU_RW, tile(i, k), STARPU_VALUE, &b, sizeof b,
                           STARPU_PRIORITY, cholesky::priority_of_trsm, 0);
      }
      for (int i = k + 1; i < nt; ++i) {
        starpu_task_insert(&syrks, STARPU_R, tile(i, k), STARPU_RW, tile(i, i), STARPU_VALUE, &b, sizeof b,
                           STARPU_PRIORITY, cholesky::priority_of_update(k, i), 0);
        for (int j = k + 1; j < i; ++j) {
          starpu_task_insert(&gemms, STARPU_R, tile(i, k), STARPU_R, tile(j, k), STARPU_RW, tile(i, j), STARPU_VALUE,
                             &b, sizeof b, STARPU_PRIORITY, cholesky::priority_of_update(k, j), 0);
        }
      }
    }
    starpu_task_wait_for_all();
    if (repeat > 0) seconds.push_back(1e-9 * static_cast<double>(cholesky::now_ns() - start));
  }
  double squares = 0;
  for (int i = 0; i < nt; ++i) {
    for (int j = 0; j <= i; ++j) {
      starpu_data_unregister(tile(i, j));
      squares += cholesky::squares_below(tiles[place(i, j)].data(), i == j, b);
    }
  }
  starpu_shutdown();
  const double error = cholesky::trace_error(squares, o.n);
  cholesky::report("StarPU", o, seconds, error);
  return error < 1e-10 ? 0 : 1;
}

#include "worker.h"

#include "dealt_devices.h"
#include "imbrex/base/build_config.h"
#include "support/pe_time.h"
#if IMBREX_HAVE_CUDA
#include "gpu_runner.h"
#endif

namespace dgemm {

std::unique_ptr<runner> worker::make() const {
  const bool on_host = rt().num_gpus() == 0;
#if IMBREX_HAVE_CUDA
  if (now_.by == variant::naive && !on_host) return make_cuda_runner(*problem_, rt().gpu(0).number());
#endif
  if (now_.by == variant::naive) return make_host_runner(*problem_);
  std::vector<ix::device*> devices;
  for (const int d : dealt_devices(index().x, now_.pes, now_.gpus))
    devices.push_back(on_host ? &ix::chare<worker, ix::index1d>::on_host() : &rt().gpu(d));
  ix::hetero_options how = options_of(now_.by, now_.lanes);
  how.sharing = now_.pes;
  return make_task_runner(*problem_, std::move(devices), how, now_.iterations);
}

ix::task<> worker::prepare(assignment a) {
  now_ = a;
  if (problem_ == nullptr || problem_->n != a.n) problem_ = std::make_unique<problem>(a.n);
  runner_ = make();
  auto prepared = runner_->prepare();
  co_await prepared;
}

ix::task<outcome> worker::work() {
  outcome o;
  o.began = apps::pe_time_ns();
  auto worked = runner_->work(now_.iterations);
  co_await worked;
  o.ended = apps::pe_time_ns();
  auto checked = runner_->check();
  o.wrong_rows = co_await checked;
  co_return o;
}

ix::task<> worker::close() {
  auto closed = runner_->close();
  co_await closed;
  runner_.reset();
}

}  // namespace dgemm

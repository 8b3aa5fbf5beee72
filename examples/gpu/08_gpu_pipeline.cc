// GPU pipeline: several chares share a GPU, and while one copies, another computes.
//
// Every chare works through chunks of numbers: copy in, kernel, copy out, each on its own stream. `after` puts an event
// between two streams; nobody waits on the host. There is no more to arrange: the GPU has kernels of one chare and
// copies of others at hand. Enqueueing is cheap, so a bound says how many chunks a chare may be ahead of the GPU: as
// many as it has memory for.
//
//   build/default/bin/08_gpu_pipeline                             on the host
//   build/default/bin/08_gpu_pipeline --imbrex-device=auto        on GPUs where there are some: 8 chares share them
//   build/default/bin/08_gpu_pipeline 16 50 10000000              16 chares, 50 chunks of 10000000 numbers
//   mpirun -n 2 build/default/bin/08_gpu_pipeline --imbrex-device=auto     two processes: each takes its share of GPUs
#include <fmt/core.h>
#include <imbrex/base/build_config.h>
#include <imbrex/imbrex.h>

#include <array>
#include <string>
#include <vector>

#include "08_gpu_pipeline.h"

namespace ix = imbrex;

void invert(ix::stream& s, std::uint32_t* numbers, std::size_t n) {
#if IMBREX_HAVE_CUDA
  if (s.on().kind() == ix::device_kind::cuda) {
    gpu_invert(s, numbers, n);
    return;
  }
#endif
  s.call("invert", [=] {
    for (std::size_t i = 0; i < n; ++i) numbers[i] = inverse(numbers[i]);
  });
}

class worker : public ix::chare<worker, ix::index1d> {
 public:
  explicit worker(std::size_t chunk) : chunk_(chunk) {
    for (memory& m : memory_) {
      m.in = ix::buffer<std::uint32_t>(on_device(), chunk, ix::memory_kind::pinned);
      m.out = ix::buffer<std::uint32_t>(on_device(), chunk, ix::memory_kind::pinned);
      m.on_device = ix::buffer<std::uint32_t>(on_device(), chunk);
    }
  }

  ix::task<> run(int num_chunks) {
    ix::stream_set& s = streams();          // this chare's own
    ix::run_ahead ahead(num_chunks_ahead);  // counts what we enqueue and lets us wait for the GPU
    for (int c = 0; c < num_chunks; ++c) {
      memory& m = memory_[static_cast<std::size_t>(c) % memory_.size()];
      const std::size_t first =
          (static_cast<std::size_t>(index().x * num_chunks) + static_cast<std::size_t>(c)) * chunk_;
      for (std::size_t i = 0; i < chunk_; ++i)
        m.in.data()[i] = static_cast<std::uint32_t>((first + i) % (modulus - 1) + 1);

      ix::copy<std::uint32_t>(m.on_device, m.in, s.to_device);
      s.compute.after(s.to_device);  // an event: what follows on `compute` waits for the copy, we do not
      invert(s.compute, m.on_device.data(), chunk_);
      s.to_host.after(s.compute);
      ix::copy<std::uint32_t>(m.out, m.on_device, s.to_host);
      s.to_host.then("check", [this, &m] { check(m); });  // on this PE, once the copy has arrived

      // Until all but the last chunks have come to this point: then their memory may be used for the next one.
      co_await ahead.step(s.to_host);
    }
    co_await s.to_host.done();
    contribute(std::vector<std::uint64_t>{num_right_, sum_}, ix::sum);
  }

 private:
  struct memory {
    ix::buffer<std::uint32_t> in, out, on_device;
  };

  void check(const memory& m) {
    for (std::size_t i = 0; i < chunk_; ++i) {
      const std::uint64_t product = std::uint64_t{m.in.data()[i]} * m.out.data()[i];
      num_right_ += product % modulus == 1 ? 1 : 0;
      sum_ += m.out.data()[i];
    }
  }

  static constexpr std::size_t num_chunks_ahead = 2;
  const std::size_t chunk_;
  std::array<memory, num_chunks_ahead + 1> memory_;  // one more: for the chunk that we are enqueueing
  std::uint64_t num_right_ = 0, sum_ = 0;
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const int num_workers = !arguments.empty() ? std::stoi(arguments[0]) : 8;
  const int num_chunks = arguments.size() > 1 ? std::stoi(arguments[1]) : 10;
  const std::size_t chunk = arguments.size() > 2 ? std::stoul(arguments[2]) : 5000;

  const auto workers = rt.create_array<worker>(num_workers, chunk);
  workers.broadcast<&worker::run>(num_chunks);
  const auto result = co_await workers.reduction<std::vector<std::uint64_t>>();
  const std::uint64_t count = static_cast<std::uint64_t>(num_workers) * static_cast<std::uint64_t>(num_chunks) * chunk;
  fmt::print("{} of {} inverses modulo {} are right; checksum {:016x}\n", result[0], count, modulus, result[1]);
  co_return result[0] == count ? 0 : 1;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }

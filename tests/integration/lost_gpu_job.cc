// lost_gpu_job kernel|driver|borrow|gate: the last of three ranks dies while a stream of the one before waits for its
// GPU, in that way; the first rank takes no part. Two GPUs will do: ranks 0 and 2 share one then. Run by
// lost_rank_test.py.
#include <imbrex/imbrex.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "imbrex/device/cuda/cuda_gpu.h"

namespace ix = imbrex;

namespace {

struct member : ix::chare<member, ix::index1d> {
  ix::task<> exchange(std::string way) {
    const std::size_t bytes =
        way == "driver" ? std::size_t{40} << 20 : std::size_t{64} << 10;  // a kernel waits for less
    if (index().x == 0) co_return;
    ix::channel<std::byte> other(*this, array()[3 - index().x], 0, 0, ix::memory_kind::device);
    ix::buffer<std::byte> memory(on_device(), bytes);
    ix::stream& s = streams().compute;
    co_await pause();  // both ends know each other
    if (index().x == 2) {
      s.fill(memory.data(), 1, bytes);
      s.call("die", [] {
        usleep(500'000);  // the message has left
        _exit(0);         // mpirun ends the whole job when one of its processes is killed
      });
      auto sent = other.send(memory.view(), s);
      co_await sent;
    } else if (way == "borrow") {
      ix::received<std::byte> theirs = co_await other.borrow(s);
      s.copy(memory.data(), theirs.data(), theirs.size());
      co_await s.done();
    } else {
      co_await other.recv(memory.view(), s);
      if (way == "gate") s.call("never run", [] {});
      co_await s.done();
    }
  }

 private:
  ix::task<> pause() {
    for (int i = 0; i < 1000; ++i) {
      auto again = array()[3 - index().x].call<&member::nothing>();
      co_await std::move(again);
    }
  }

 public:
  void nothing() {}
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  auto all = rt.create_array<member>(ix::index1d(3));
  all.broadcast<&member::exchange>(arguments.at(0));
  co_await rt.quiescence();
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string why;
  if (ix::cuda_machine::count(&why) < 2) {
    std::printf("SKIPPED: two GPUs are needed: %s\n", why.empty() ? "there are fewer" : why.c_str());
    return 77;
  }
  std::vector<char*> words(argv, argv + argc);
  std::string device = "--imbrex-device=cuda", gpus = "--imbrex-gpus=1";
  words.push_back(device.data());
  words.push_back(gpus.data());
  int count = static_cast<int>(words.size());
  words.push_back(nullptr);
  return ix::run(count, words.data(), start);
}

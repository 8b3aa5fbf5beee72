// Programs of which each has one mistake that ends, or stops, a job: mistakes_test.py looks at what they are told.
#include <imbrex/imbrex.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>

namespace ix = imbrex;

static volatile int* nowhere = nullptr;

static int calls_itself(int n) {
  volatile char room[4096];
  room[0] = static_cast<char>(n);
  return n < 0 ? 0 : calls_itself(n + 1) + room[0];
}

struct cell : ix::chare<cell, ix::index2d> {
  void falls(std::string how) {
    if (index() != ix::index2d{1, 1}) return;
    const std::map<std::string, std::function<void()>> ways{
        {"segv", [] { *nowhere = 3; }},
        {"stack", [] { calls_itself(0); }},
        {"abort", [] { std::abort(); }},
        {"raise", [] { std::raise(SIGSEGV); }},
        {"terminate", []() noexcept { static_cast<void>(std::string().at(1)); }},
        {"exit", [] { std::exit(0); }},
        {"exit3", [] { std::exit(3); }},
        {"blocks", [] { std::this_thread::sleep_for(std::chrono::seconds(15)); }},
    };
    ways.at(how)();
  }

  ix::task<int> gives() { co_return 42; }
  ix::task<> forgets() {
    auto given = gives();
    co_await barrier();
  }

  /// Sends three messages from one buffer, which it writes again at once.
  ix::task<> overwrites() {
    out_ = ix::buffer<double>(on_host(), 100);
    in_ = ix::buffer<double>(on_host(), 100);
    way_ = ix::channel<double>(*this, array()[{1 - index().x, index().y}], 0, 0);
    for (int i = 0; i < 3; ++i) {
      for (double& v : std::span(out_.data(), out_.size())) v = i;
      static_cast<void>(way_.send(out_, streams().pack));
    }
    for (int i = 0; i < 3; ++i) co_await way_.recv(in_, streams().unpack);
    co_await streams().unpack.done();
  }

  /// Two streams, one of which reads what the other writes, in no order; contributes how often it read too early.
  ix::task<> forgets_after() {
    auto value = std::make_unique<int>(-1), early = std::make_unique<int>(0);
    ix::stream_set& s = streams();
    for (int i = 0; i < 10; ++i) {
      s.pack.call("write", [i, v = value.get()] { *v = i; });
      s.compute.call("read", [i, v = value.get(), e = early.get()] { *e += *v != i ? 1 : 0; });
    }
    co_await s.pack.done();
    co_await s.compute.done();
    contribute(*early, ix::sum);
  }

  /// Writes one element too many, in a buffer of its own or of an object that a task has.
  ix::task<> goes_too_far(bool in_task) {
    if (in_task) {
      ix::hetero_object<double> o(100);
      ix::submit({.name = "too far"}, [](std::span<double> x) { x.data()[100] = 1; }, ix::write(o));
      co_await ix::all_tasks();
    } else {
      const ix::buffer<double> b(on_device(), 100);
      streams().compute.call("fill", [x = b.data()] {
        for (int i = 0; i <= 100; ++i) x[i] = i;
      });
      co_await streams().compute.done();
    }
  }

  /// The same in a buffer that ends with the chare, when the job has ended.
  void goes_too_far_in_a_member() {
    kept_ = ix::buffer<double>(on_device(), 100);
    kept_.data()[100] = 1;
  }

 private:
  ix::buffer<double> kept_;
  ix::buffer<double> out_, in_;
  ix::channel<double> way_;
};

static ix::task<int> start(ix::runtime& rt, std::vector<std::string> words) {
  const std::string how = words.at(0);
  const auto all = rt.create_array<cell>({2, 2});
  if (how == "forgets") {
    all.broadcast<&cell::forgets>();
  } else if (how == "overwrites") {
    all.broadcast<&cell::overwrites>();
  } else if (how == "too-far" || how == "too-far-in-task") {
    all[{1, 0}].send<&cell::goes_too_far>(how != "too-far");
  } else if (how == "too-far-in-member") {
    all.broadcast<&cell::goes_too_far_in_a_member>();
  } else if (how == "forgets-after") {
    all.broadcast<&cell::forgets_after>();
    std::printf("%d\n", co_await all.reduction<int>());
  } else {
    all.broadcast<&cell::falls>(how);
  }
  co_await rt.quiescence();
  std::printf("the end\n");
  co_return 0;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }

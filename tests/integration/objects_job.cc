// Objects in messages, puts and gets between them, between processes. Usage, under mpirun: objects_job [--imbrex-...].
// With devices, tasks of the host and of devices write and read them in all combinations.
#include <fmt/format.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <vector>

#include "objects_job.hk"

namespace {

namespace ix = imbrex;
using object = ix::hetero_object<double>;

constexpr std::size_t sizes[] = {0, 3, 600, 5'000, 1'500'000};

/// On the host, or on a device where there is one.
enum class where { host, device };

ix::task_options on(where at, ix::task_name name) {
  const ix::device_kind device = ix::scheduler::current().default_device->kind();
  return {.name = name, .on = at == where::host ? ix::device_kind::host : device};
}
ix::launch_shape shape(std::size_t n) { return ix::launch_shape::over(std::max<std::size_t>(n, 1)); }

void set(const object& x, double value, where at) {
  ix::submit(on(at, "set"), set_all, shape(x.size()), static_cast<int>(x.size()), value, ix::write(x));
}
ix::task<bool> all_are(object x, double value, where at) {
  const object wrong(1);
  set(wrong, 0, at);
  ix::submit(on(at, "compare"), mark_others, shape(x.size()), static_cast<int>(x.size()), value, x, wrong);
  auto access = wrong.host(ix::access_mode::read);
  auto view = co_await access;
  co_return view[0] == 0.0;
}

constexpr where places[] = {where::host, where::device};
constexpr int rounds = 4;
constexpr int hops = 7;
constexpr std::size_t large = 300'000;
constexpr int num_sizes = static_cast<int>(std::size(sizes));

struct part : ix::chare<part, ix::index1d> {
  part() {
    for (const std::size_t n : sizes) {
      mine_.emplace_back(n);
      set(mine_.back(), index(), places[mine_.size() % 2]);
    }
  }
  ix::hetero_pointer<double> pointer(int i) const { return ix::expose(mine_[static_cast<std::size_t>(i)]); }

  /// From and to the host and devices, in all combinations.
  ix::task<> run() {
    const auto next = array()[(index() + 1) % extent()];
    for (int round = 0; round < rounds; ++round) {
      for (const std::size_t n : sizes) {
        object x(n);
        set(x, round, places[round % 2]);
        next.send<&part::take>(x, round);
        set(x, -1, places[round / 2]);
      }
    }
    for (int i = 0; i < num_sizes; ++i) {
      auto asked = next.call<&part::pointer>(i);
      const ix::hetero_pointer<double> there = co_await std::move(asked);
      object x(there.size());
      set(x, -2, places[i % 2]);
      auto got = ix::get(there, x);
      co_await got;
      auto same = all_are(x, (index() + 1) % extent(), places[i / 2 % 2]);
      num_right_ += co_await std::move(same) ? 1 : 0;
      set(x, 100, places[i % 2]);
      auto told = ix::put_and_tell<&part::told>(there, x, next, i);
      co_await told;
    }
  }
  /// From device to device: the host has no copy of it.
  void pass(object x, int hops_left) {
    ix::submit(on(where::device, "add"), add_one, shape(x.size()), static_cast<int>(x.size()), x);
    if (hops_left > 0) return array()[(index() + 1) % extent()].send<&part::pass>(std::move(x), hops_left - 1);
    array()[index()].send<&part::keep>(std::move(x));
  }
  ix::task<> keep(object x) {
    auto same = all_are(std::move(x), hops, where::device);
    num_right_ += co_await std::move(same) ? 1 : 0;
  }
  void start_passing() {
    const bool has_device = ix::scheduler::current().default_device->kind() != ix::device_kind::host;
    bytes_before_ = has_device ? bytes_on_host() : 0;
    object x(large);
    set(x, 0, where::device);
    pass(std::move(x), hops - 1);
  }
  void end_passing() {
    const bool has_device = ix::scheduler::current().default_device->kind() != ix::device_kind::host;
    const bool there_was_room = ix::hetero_domain::current().counts().evictions == 0;
    const bool as_before = bytes_on_host() < bytes_before_ + large * sizeof(double);
    num_right_ += !has_device || !there_was_room || as_before ? 1 : 0;
    contribute(num_right_, ix::sum);
  }
  static std::uint64_t bytes_on_host() {
    const ix::hetero_counts& c = ix::hetero_domain::current().counts();
    return c.bytes_to_host + c.bytes_to_devices;
  }

  ix::task<> take(object x, int round) {
    auto same = all_are(x, round, places[round / 2]);
    count(co_await std::move(same));
  }
  ix::task<> told(int i) {
    auto same = all_are(mine_[static_cast<std::size_t>(i)], 100, places[i % 2]);
    count(co_await std::move(same));
  }
  void count(bool right) {
    num_right_ += right ? 1 : 0;
    if (++num_come_ == (rounds + 1) * num_sizes) ready_.set();
  }
  ix::task<> end() {
    co_await ready_;
    contribute(0, ix::sum);
  }

 private:
  std::vector<object> mine_;
  ix::completion ready_;
  int num_right_ = 0;
  int num_come_ = 0;
  std::uint64_t bytes_before_ = 0;
};

ix::task<int> start(ix::runtime& rt) {
  const auto parts = rt.create_array<part>(5);
  parts.broadcast<&part::run>();
  co_await rt.quiescence();
  parts.broadcast<&part::end>();
  co_await parts.reduction<int>();
  parts.broadcast<&part::start_passing>();
  co_await rt.quiescence();
  parts.broadcast<&part::end_passing>();
  const int right = co_await parts.reduction<int>();
  constexpr int all = 5 * (rounds + 2) * num_sizes + 5 * 2;
  fmt::print("{} of {} were right\n", right, all);
  co_return right == all ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }

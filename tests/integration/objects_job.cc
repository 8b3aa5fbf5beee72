// Objects in messages, puts and gets between them, between processes. Usage, under mpirun: objects_job [--imbrex-...].
#include <fmt/format.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

namespace ix = imbrex;
using object = ix::hetero_object<double>;

constexpr std::size_t sizes[] = {0, 3, 600, 5'000, 1'500'000};

void set(const object& x, double value) {
  ix::submit({.name = "set"}, [value](std::span<double> v) { std::fill(v.begin(), v.end(), value); }, ix::write(x));
}
ix::task<bool> all_are(object x, double value) {
  auto access = x.host(ix::access_mode::read);
  auto view = co_await access;
  co_return std::all_of(view.begin(), view.end(), [value](double v) { return v == value; });
}

struct part : ix::chare<part, ix::index1d> {
  part() {
    for (const std::size_t n : sizes) {
      mine_.emplace_back(n);
      set(mine_.back(), index());
    }
  }
  ix::hetero_pointer<double> where(int i) const { return ix::expose(mine_[static_cast<std::size_t>(i)]); }

  ix::task<> run() {
    const auto next = array()[(index() + 1) % extent()];
    for (int round = 0; round < 3; ++round) {
      for (const std::size_t n : sizes) {
        object x(n);
        set(x, round);
        next.send<&part::take>(x, static_cast<double>(round));
        set(x, -1);
      }
    }
    for (int i = 0; i < 5; ++i) {
      auto asked = next.call<&part::where>(i);
      const ix::hetero_pointer<double> there = co_await std::move(asked);
      object x(there.size());
      auto got = ix::get(there, x);
      co_await got;
      auto same = all_are(x, (index() + 1) % extent());
      num_right_ += co_await std::move(same) ? 1 : 0;
      set(x, 100);
      auto told = ix::put_and_tell<&part::told>(there, x, next, i);
      co_await told;
    }
  }
  ix::task<> take(object x, double value) {
    auto same = all_are(x, value);
    count(co_await std::move(same));
  }
  ix::task<> told(int i) {
    auto same = all_are(mine_[static_cast<std::size_t>(i)], 100);
    count(co_await std::move(same));
  }
  void count(bool right) {
    num_right_ += right ? 1 : 0;
    if (++num_come_ == 3 * 5 + 5) ready_.set();
  }
  ix::task<> end() {
    co_await ready_;
    contribute(num_right_, ix::sum);
  }

 private:
  std::vector<object> mine_;
  ix::completion ready_;
  int num_right_ = 0;
  int num_come_ = 0;
};

ix::task<int> start(ix::runtime& rt) {
  const auto parts = rt.create_array<part>(5);
  parts.broadcast<&part::run>();
  co_await rt.quiescence();
  parts.broadcast<&part::end>();
  const int right = co_await parts.reduction<int>();
  fmt::print("{} of {} were right\n", right, 5 * 25);
  co_return right == 5 * 25 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }

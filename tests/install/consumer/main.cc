#include <imbrex/imbrex.h>

#include <cstdio>
#include <string>
#include <vector>

#include "device_calls.h"
#include "scale.hk"

class adder : public imbrex::chare<adder, imbrex::index1d> {
 public:
  void add() { contribute(index().x, imbrex::sum); }
};

imbrex::task<int> start(imbrex::runtime& rt) {
  const auto adders = rt.create_array<adder>(10);
  adders.broadcast<&adder::add>();
  const int sum = co_await adders.reduction<int>();

  std::vector<int> numbers(100, 3);
  const int n = 100, factor = 5;
  int* data = numbers.data();
  const void* const arguments[] = {&n, &data, &factor};
  const auto shape = imbrex::launch_shape::over(numbers.size(), 32);
  imbrex::run_on_cpu(scale, shape, const_cast<void* const*>(arguments), 0, shape.num_groups());

  const std::string wrong = co_await check_device_calls(rt);
  if (!wrong.empty()) std::printf("calls of a device: %s\n", wrong.c_str());

  const bool ok = wrong.empty() && sum == 45 && numbers == std::vector<int>(100, 15);
  if (ok) std::puts("consumer ok");
  co_return ok ? 0 : 1;
}

int main(int argc, char** argv) { return imbrex::run(argc, argv, &start); }

#include <imbrex/imbrex.h>

#include <cstdio>

class adder : public imbrex::chare<adder, imbrex::index1d> {
 public:
  void add() { contribute(index().x, imbrex::sum); }
};

imbrex::task<int> start(imbrex::runtime& rt) {
  const auto adders = rt.create_array<adder>(10);
  adders.broadcast<&adder::add>();
  const int sum = co_await adders.reduction<int>();
  if (sum == 45) std::puts("consumer ok");
  co_return sum == 45 ? 0 : 1;
}

int main(int argc, char** argv) { return imbrex::run(argc, argv, &start); }

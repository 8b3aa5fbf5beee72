/// Waits that are made and dropped: of each line marked so the compiler must warn, of no other.
#include <imbrex/imbrex.h>

namespace ix = imbrex;

struct block : ix::chare<block, ix::index1d> {
  ix::when<int, double> slot;
  ix::task<> step() {
    slot(1);     // discarded
    slot.any();  // discarded
    auto later = slot(1);
    co_await later;
    co_await slot(2);
    this->streams().compute.done();  // discarded
    co_await this->streams().compute.done();
    step();  // discarded
  }
};

ix::task<int> start(ix::runtime& rt) {
  rt.quiescence();  // discarded
  co_await rt.quiescence();
  auto blocks = rt.create_array<block>(ix::index1d(4));
  ix::hetero_object<double> numbers(8);
  numbers.host(ix::access_mode::read);  // discarded
  auto view = co_await numbers.host(ix::access_mode::read);
  ix::when_all(blocks[0].call<&block::step>());  // discarded
  ix::trace_range("assemble");                   // discarded
  const ix::trace_range range("assemble");
  co_return 0;
}

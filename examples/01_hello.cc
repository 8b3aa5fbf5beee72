// Hello: a chare array, entry methods that are called and that are sent to, and a broadcast.
//
// A chare is an object that lives on one PE (a scheduler thread) and is spoken to by messages only. One usually makes
// more chares than there are PEs and does not care where each of them lives: the program below prints the same however
// it is run.
//
//   build/default/bin/01_hello                          one process, one PE per core
//   build/default/bin/01_hello --imbrex-pes 4           four PEs
//   mpirun -n 2 build/default/bin/01_hello              two processes (MPI ranks) that share the chares
//   build/default/bin/01_hello where                    also says on which PE each chare lives
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <string>
#include <vector>

namespace ix = imbrex;

// Eight of these are made; `index()` says which one this is, 0 to 7.
class greeter : public ix::chare<greeter, ix::index1d> {
 public:
  explicit greeter(std::string word) : word_(std::move(word)) {}

  // Entry methods are ordinary member functions.
  std::string greet(const std::string& whom) const { return fmt::format("{} {} from {}", word_, whom, index().x); }
  void change_word(std::string word) { word_ = std::move(word); }
  int where() const { return pe(); }

 private:
  std::string word_;
};

// The main chare: a coroutine that starts on PE 0 of rank 0. `co_await` lets the PE do other things meanwhile.
ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const std::string word = "hello";
  const auto greeters = rt.create_array<greeter>(8, word);  // every element is constructed with this argument

  // A call has a reply ...
  std::string text = co_await greeters[3].call<&greeter::greet>("world");
  fmt::print("{}\n", text);

  // ... a send has none and returns at once, and so does a broadcast, which goes to all elements.
  const std::string goodbye = "goodbye";
  greeters.broadcast<&greeter::change_word>(goodbye);
  // Quiescence: nothing is on its way or running any more, so everybody has the new word.
  co_await rt.quiescence();
  for (int i = 0; i < 8; ++i) {
    text = co_await greeters[i].call<&greeter::greet>("world");
    fmt::print("{}\n", text);
  }

  if (!arguments.empty() && arguments[0] == "where") {
    for (int i = 0; i < 8; ++i) {
      const int pe = co_await greeters[i].call<&greeter::where>();
      fmt::print("greeter {} lives on PE {} of {}\n", i, pe, rt.num_pes());
    }
  }
  co_return 0;  // the exit code of the program, on every rank
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }

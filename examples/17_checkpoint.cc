// Checkpoint and restart: a rod that cools, in pieces, and a job that may be interrupted at any time.
//
//   build/default/bin/17_checkpoint                                                    without checkpoints
//   build/default/bin/17_checkpoint 100000 --imbrex-checkpoint=cp --imbrex-checkpoint-every=1s      Ctrl-C or kill it,
//   then build/default/bin/17_checkpoint 100000 --imbrex-restart=cp --imbrex-pes 3          go on, on another number of
//   PEs build/default/bin/imbrex run --restart-on-failure --checkpoint cp -- mpirun -n 2
//   build/default/bin/17_checkpoint 100000
//
// However often it was interrupted, and wherever it went on, the last line is the same to the last bit.
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <string>
#include <tuple>
#include <vector>

namespace ix = imbrex;

constexpr int cells_each = 1000;

// One piece. It has a default constructor, and `serialize` names what has to be kept of it.
class piece : public ix::chare<piece, ix::index1d> {
 public:
  ix::when<int, double> from_left, from_right;  // by step: the neighbours' outermost cells

  piece() : heat_(cells_each + 2, 0.0) {
    if (index() == 0) heat_[1] = 1e6;
  }

  ix::task<> run(int last) {
    const int i = index(), n = extent();
    while (step_ < last) {
      if (i > 0) array()[i - 1].send<&piece::from_right>(step_, heat_[1]);
      if (i < n - 1) array()[i + 1].send<&piece::from_left>(step_, heat_[cells_each]);
      if (i > 0) std::tie(heat_.front()) = co_await from_left(step_);
      if (i < n - 1) std::tie(heat_.back()) = co_await from_right(step_);
      update();
      ++step_;
      // Here the members are all that is needed of this piece. Without --imbrex-checkpoint the point costs nothing.
      if (step_ % 50 == 0) co_await ix::checkpoint_point(*this);
    }
    contribute(heat_[1], ix::max);
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & heat_ & step_;
  }

 private:
  void update() {
    double before = heat_[0];
    for (std::size_t c = 1; c + 1 < heat_.size(); ++c) {
      const double here = heat_[c];
      heat_[c] = here + 0.25 * (before - 2 * here + heat_[c + 1]);
      before = here;
    }
  }

  std::vector<double> heat_;
  int step_ = 0;
};

// The main chare: an object, so that it can be kept as well.
class rod {
 public:
  ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
    steps_ = arguments.empty() ? 500 : std::stoi(arguments[0]);
    pieces_ = rt.create_array<piece>(ix::index1d(8));
    auto rest = finish();
    co_return co_await rest;
  }

  // Instead of start, with --imbrex-restart: the pieces are there as they were, and nothing runs.
  ix::task<int> restart(ix::runtime&) {
    auto rest = finish();
    co_return co_await rest;
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & pieces_ & steps_;
  }

 private:
  ix::task<int> finish() {
    pieces_.broadcast<&piece::run>(steps_);
    const double hottest = co_await pieces_.reduction<double>();
    fmt::print("after {} steps the hottest end of a piece has {:.17g}\n", steps_, hottest);
    co_return 0;
  }

  ix::array_proxy<piece> pieces_;
  int steps_ = 0;
};

int main(int argc, char** argv) { return ix::run<rod>(argc, argv); }

#pragma once

#include <gtest/gtest.h>
#include <imbrex/base/build_config.h>
#include <imbrex/imbrex.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// Whole jobs inside the test's process, as a user would start them from a command line.
namespace imbrex_test {

/// What a job runs on.
struct job_shape {
  int pes = 1;  ///< of each rank
  int ranks = 1;
  std::uint64_t seed = 0;        ///< other than 0: schedules, delays and reordering at random
  int delay_us = 0;              ///< other than 0: messages between ranks take up to this long and overtake each other
  bool one_thread = false;       ///< which runs all PEs of a rank, a step at a time
  bool in_virtual_time = false;  ///< on a simulated machine of two ranks a node; `seed` is of its noise
};

inline std::string to_text(const job_shape& s) {
  return fmt::format("{} PEs on each of {} ranks, seed {}, delay {} us{}", s.pes, s.ranks, s.seed, s.delay_us,
                     s.one_thread        ? ", one thread"
                     : s.in_virtual_time ? ", in virtual time"
                                         : "");
}

/// A command line that asks for `s`.
class command_line {
 public:
  explicit command_line(const job_shape& s, std::vector<std::string> more = {}) : words_(std::move(more)) {
    words_.insert(words_.begin(), "test");
    words_.push_back(fmt::format("--imbrex-pes={}", s.pes));
    words_.push_back("--imbrex-pin=off");
    words_.push_back(fmt::format("--imbrex-ranks={}", s.ranks));
    words_.push_back(fmt::format("--imbrex-schedule-seed={}", s.seed));
    s.in_virtual_time ? add_machine(s) : add_loopback(s);
    if (s.one_thread) words_.emplace_back("--imbrex-single-thread");
    for (std::string& w : words_) pointers_.push_back(w.data());
    count_ = static_cast<int>(pointers_.size());
    pointers_.push_back(nullptr);
  }
  int& count() { return count_; }
  char** values() { return pointers_.data(); }

 private:
  void add_loopback(const job_shape& s) {
    words_.push_back("--imbrex-transport=loopback");
    words_.push_back(fmt::format("--imbrex-loopback-seed={}", s.seed + 1));
    words_.push_back(fmt::format("--imbrex-loopback-delay-us={}", s.delay_us));
    words_.push_back(fmt::format("--imbrex-loopback-reorder={}", s.delay_us > 0 ? "on" : "off"));
  }
  void add_machine(const job_shape& s) {
    words_.push_back("--imbrex-machine=h200-x4");
    words_.push_back("--imbrex-ranks-per-node=2");
    words_.push_back(fmt::format("--imbrex-nodes={}", (s.ranks + 1) / 2));
    words_.push_back(fmt::format("--imbrex-machine-seed={}", s.seed + 1));
  }

  std::vector<std::string> words_;
  std::vector<char*> pointers_;
  int count_ = 0;
};

/// Runs `start` as the main chare; the exit code.
template <class Start, class... Extra>
int run_job_with(const job_shape& s, Start start, Extra... extra) {
  command_line line(s);
  return imbrex::run(line.count(), line.values(), start, extra...);
}

/// A few PEs, more PEs than cores, ranks, slow networks that reorder, random schedules, one thread for all PEs, and
/// virtual time.
inline const std::vector<job_shape>& all_shapes() {
  static const std::vector<job_shape> shapes{
      {1, 1},
      {2, 1},
      {4, 1},
      {1, 2},
      {2, 2},
      {1, 3},
      {3, 1, 5},
      {2, 2, 0, 150},
      {1, 3, 9, 100},
      {1, 1, 3},
      {3, 1, 0, 0, true},
      {9, 1, 11, 0, true},
      {3, 2, 12, 50, true},
#if IMBREX_HAVE_TOML
      {2, 3, 0, 0, false, true},
      {1, 5, 21, 0, false, true},
#endif
  };
  return shapes;
}

/// Those of this machine in real time: for what a simulated one refuses.
inline std::vector<job_shape> real_shapes() {
  std::vector<job_shape> real = all_shapes();
  std::erase_if(real, [](const job_shape& s) { return s.in_virtual_time; });
  return real;
}

/// The same program over all of them; each must end with exit code 0.
template <class Start, class... Extra>
void run_over_all_shapes(Start start, Extra... extra) {
  for (const job_shape& s : all_shapes()) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_job_with(s, start, extra...), 0);
  }
}

/// A job's exit code and what it wrote to standard error.
struct job_outcome {
  int code = 0;
  std::string errors;
};

template <class Start, class... Extra>
job_outcome run_and_listen(const job_shape& s, Start start, Extra... extra) {
  testing::internal::CaptureStderr();
  const int code = run_job_with(s, start, extra...);
  return {code, testing::internal::GetCapturedStderr()};
}

}  // namespace imbrex_test

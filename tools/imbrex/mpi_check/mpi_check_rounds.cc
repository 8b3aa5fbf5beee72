// Which runs are made, and in which order.
#include <fmt/format.h>
#include <imbrex/base/error.h>

#include <cstdio>
#include <utility>

#include "mpi_check.h"
#include "mpi_check_job.h"

namespace mpi_check {

namespace {

/// What cuPointerGetAttribute takes for ordinary host memory on NVIDIA drivers from 580 on.
constexpr long usual_delay_ns = 400;

double of_total(const run& r, const char* member) { return r.report["total"][member]; }

/// Tells of each run, and about how long the rest takes.
class progress {
 public:
  void expect(int runs) { left_ += runs; }
  void ended(const std::string& what, const run& r) {
    --left_;
    longest_ = r.wall_s > longest_ ? r.wall_s : longest_;
    const std::string rest = left_ > 0 ? fmt::format("; at most {:.0f} s left", longest_ * left_ + 0.5) : "";
    fmt::print(stderr, "mpi-check: {:<24} {:9.3f} s, {:9.3f} s with its start{}\n", what, r.seconds, r.wall_s, rest);
  }

 private:
  int left_ = 0;
  double longest_ = 0;
};

class rounds {
 public:
  rounds(const options& o, const std::function<void(const result&)>& keep) : job_(o), keep_(keep) {
    result_.asked = o;
    result_.delay_ns = o.delay_ns;
  }

  result all() {
    progress_.expect(3 + 4 * result_.asked.repeats);
    look_at_program();
    choose_delay();
    while (result_.rounds < result_.asked.repeats) {
      run_round(result_.rounds);
      ++result_.rounds;
      keep_(result_);
    }
    return std::move(result_);
  }

 private:
  run start(const variant& v, const std::string& name) {
    const run r = job_.start(v, name, result_.delay_ns);
    if (!v.modes.empty() && r.exit_code != 0) {
      throw imbrex::error(
          fmt::format("the program ends with exit code {} in the run '{}', and with 0 without the "
                      "library; {}",
                      r.exit_code, name, job_.last_words(name)));
    }
    progress_.ended(name, r);
    if (r.report.is_object() && r.report.value("replaced", false)) say_that_programs_are_several();
    return r;
  }

  // Each program writes the report of its run, in place of the one before.
  void say_that_programs_are_several() {
    if (std::exchange(are_several_, true)) return;
    fmt::print(stderr,
               "mpi-check: the command runs several MPI programs, and the results are those of the one that ends last "
               "alone: check each by itself\n");
  }

  // Once as it is, which also warms everything up, then counted.
  void look_at_program() {
    result_.without_library = start({"without the library", ""}, "without-library");
    if (const int code = result_.without_library.exit_code; code != 0) {
      throw imbrex::usage_error(
          fmt::format("the program fails by itself, with exit code {}: {}", code, job_.last_words("without-library")));
    }
    const run counted = start({"counted", "count"}, "warm-up-counted");
    if (of_total(counted, "checks") == 0)
      fmt::print(stderr, "mpi-check: the program gives its MPI no buffers, so that there is nothing to check\n");
    result_.all = {{{"plain", "time"}, {}},
                   {{"counted", "count"}, {}},
                   {{"injected", "inject"}, {}},
                   {{"elided", "inject,elide"}, {}}};
    if (of_total(counted, "queries") > 0) {  // the MPI asks by itself
      result_.all.push_back({{"own elided", "elide"}, {}});
      progress_.expect(result_.asked.repeats);
    }
  }

  // Where the injected queries cost nothing, there is no driver on the ranks.
  void choose_delay() {
    const run injected = result_.looked_at = start({"injected", "inject,kinds"}, "warm-up-injected");
    if (result_.delay_ns || of_total(injected, "injected") == 0 || of_total(injected, "query_ns") > 0) return;
    result_.delay_ns = usual_delay_ns;
    fmt::print(stderr,
               "mpi-check: the ranks have no driver to ask, so that a delay of {} ns stands for it (what "
               "cuPointerGetAttribute takes for host memory); --delay-ns sets another\n",
               usual_delay_ns);
  }

  // Each round begins with another variant, so that what changes slowly on the machine meets them all.
  void run_round(int number) {
    const std::size_t n = result_.all.size();
    for (std::size_t k = 0; k < n; ++k) {
      series& s = result_.all[(static_cast<std::size_t>(number) + k) % n];
      std::string file = fmt::format("{}-{}", number + 1, s.what.name);
      for (char& c : file) c = c == ' ' ? '-' : c;
      s.runs.push_back(start(s.what, file));
    }
  }

  job job_;
  const std::function<void(const result&)>& keep_;
  progress progress_;
  result result_;
  bool are_several_ = false;  ///< said once
};

}  // namespace

const series* result::find(const std::string& name) const {
  for (const series& s : all) {
    if (s.what.name == name) return &s;
  }
  return nullptr;
}

result measure(const options& o, const std::function<void(const result&)>& keep) { return rounds(o, keep).all(); }

}  // namespace mpi_check

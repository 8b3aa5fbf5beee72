#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.h"
#include "finding.h"
#include "probe.h"

namespace doctor {

namespace {

using verdict = finding::verdict;

struct section {
  const char* name;
  findings (*look)();
};
constexpr section sections[] = {
    {"this build", &look_at_build}, {"this machine", &look_at_machine}, {"jobs", &look_at_jobs}};

const char* mark(verdict v) {
  switch (v) {
    case verdict::works: return "ok";
    case verdict::absent: return "-";
    case verdict::wrong: return "WRONG";
  }
  return "?";
}

std::string text(const finding& f) {
  std::string line = fmt::format("  {:<6} {:<22} {}\n", mark(f.is), f.what, f.said);
  if (!f.remedy.empty()) line += fmt::format("  {:<29} -> {}\n", "", f.remedy);
  return line;
}

/// As each section has been looked at: jobs take seconds.
int examine(bool as_json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  int num_wrong = 0;
  for (const section& s : sections) {
    if (!as_json) fmt::print("{}\n", s.name);
    std::fflush(stdout);
    for (const finding& f : s.look()) {
      num_wrong += f.is == verdict::wrong ? 1 : 0;
      if (!as_json) fmt::print("{}", text(f));
      const char* const is = f.is == verdict::works ? "works" : f.is == verdict::absent ? "absent" : "wrong";
      all.push_back({{"section", s.name}, {"what", f.what}, {"is", is}, {"said", f.said}, {"remedy", f.remedy}});
    }
  }
  if (as_json) {
    fmt::print("{}\n", all.dump(2));
  } else if (num_wrong > 0) {
    fmt::print("{} of these to mend\n", num_wrong);
  } else {
    fmt::print("all that is here works\n");
  }
  return num_wrong > 0 ? 1 : 0;
}

struct options {
  bool as_json = false;
  int probe_ranks = 0;
  std::string probe_device;
};

}  // namespace

}  // namespace doctor

void add_doctor_command(CLI::App& app, const std::vector<std::string>& words, std::function<int()>& command) {
  CLI::App* const sub = app.add_subcommand(
      "doctor",
      "what of imbrex works here, tried out; what is missing, and the line to type. Exit code 1 where something "
      "does not work that should");
  const auto o = std::make_shared<doctor::options>();
  sub->add_flag("--json", o->as_json, "as a JSON list");
  sub->add_option("--probe-ranks", o->probe_ranks, "")->group("");  // how it starts itself
  sub->add_option("--probe-device", o->probe_device, "")->group("");
  sub->callback([&command, &words, o] {
    command = [&words, o] {
      if (o->probe_ranks == 0) return doctor::examine(o->as_json);
      std::vector<std::string> runtime_words{words[0]};
      std::ranges::copy_if(words, std::back_inserter(runtime_words),
                           [](const std::string& w) { return w.starts_with("--imbrex-"); });
      std::vector<char*> pointers;
      pointers.reserve(runtime_words.size());
      for (std::string& w : runtime_words) pointers.push_back(w.data());
      return doctor::run_probe(o->probe_ranks, o->probe_device, static_cast<int>(pointers.size()), pointers.data());
    };
  });
}

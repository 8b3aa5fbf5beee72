#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

/// Jobs on a simulated machine without noise, whose numbers are easily added up.
namespace imbrex_test {

namespace ix = imbrex;

inline constexpr const char* quiet_machine = R"(
name = "quiet"
[node]
gpus = 2
shared_us = 1
shared_gbs = 10
[cpu]
dispatch_us = 0.1
send_us = 0.5
receive_us = 0.5
transfer_us = 0.5
[gpu]
memory_gb = 1
memory_gbs = 100
tflops = 1
filling_threads = 1000
kernel_us = 2
start_us = 1
launch_us = 3
copy_us = 1
event_us = 0.5
copy_start_us = 1
host_gbs = 10
peer_gbs = 50
peer_us = 1
flag_us = 1
callback_us = 30
[network]
latency_us = 2
gbs = 10
message_us = 0
rendezvous_bytes = 1000
gpu_latency_us = 1
gpu_gbs = 10
)";

/// What a job gave: its exit code, its standard error and the report on the machine.
struct outcome {
  int code = 0;
  std::string errors;
  nlohmann::json report;
};

/// Exit code 0 is what a test expects; `words` are options for imbrex.
template <class Start, class... Extra>
outcome run_on_machine(const std::string& text, std::vector<std::string> words, Start start, Extra... extra) {
  const std::string mine = fmt::format("{}{}_", testing::TempDir(), getpid());  // tests run beside each other
  const std::string file = mine + "quiet_machine.toml", report = mine + "machine_report.json";
  std::ofstream(file) << text;
  words.insert(words.begin(), {"test", "--imbrex-machine=" + file, "--imbrex-machine-report=" + report});
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& w : words) pointers.push_back(w.data());
  int count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  testing::internal::CaptureStderr();
  outcome o;
  o.code = ix::run(count, pointers.data(), start, extra...);
  o.errors = testing::internal::GetCapturedStderr();
  if (std::ifstream in(report); in && o.code == 0) o.report = nlohmann::json::parse(in);
  for (const std::string& done : {file, report}) std::filesystem::remove(done);
  return o;
}
template <class Start, class... Extra>
outcome run_on_quiet_machine(std::vector<std::string> words, Start start, Extra... extra) {
  return run_on_machine(quiet_machine, std::move(words), start, extra...);
}

template <class T>
double us(T d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

}  // namespace imbrex_test

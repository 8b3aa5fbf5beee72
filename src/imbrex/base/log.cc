#include "imbrex/base/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <atomic>
#include <memory>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

constexpr std::array level_names = {"trace", "debug", "info", "warning", "error", "off"};

std::atomic<log_level> lowest{log_level::warning};
std::atomic<rank_id> process_rank{-1};
thread_local rank_id thread_rank = -1;

// Never destroyed: other threads and destructors may still have something to say at exit.
spdlog::logger& logger() {
  static spdlog::logger& instance = []() -> spdlog::logger& {
    auto* made = new spdlog::logger("imbrex", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->set_level(spdlog::level::trace);
    made->set_error_handler([](const std::string&) {});
    return *made;
  }();
  return instance;
}

std::string one_line(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  std::string line;
  line.reserve(text.size());
  for (char c : text) {
    if (c == '\n') {
      line += "; ";
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace

log_level parse_log_level(std::string_view name) {
  for (std::size_t i = 0; i < level_names.size(); ++i) {
    if (name == level_names[i]) return static_cast<log_level>(i);
  }
  throw config_error(
      fmt::format("the log level '{}' is unknown: give trace, debug, info, warning, error or off", name));
}

const char* to_string(log_level level) { return level_names[static_cast<std::size_t>(level)]; }

void set_log_level(log_level level) { lowest.store(level, std::memory_order_relaxed); }

bool log_enabled(log_level level) { return level != log_level::off && level >= lowest.load(std::memory_order_relaxed); }

void set_log_rank(rank_id rank) { process_rank.store(rank, std::memory_order_relaxed); }

void set_thread_log_rank(rank_id rank) { thread_rank = rank; }

void log_message(log_level level, std::string_view text) try {
  if (!log_enabled(level)) return;
  const rank_id rank = thread_rank >= 0 ? thread_rank : process_rank.load(std::memory_order_relaxed);
  const std::string where = rank >= 0 ? fmt::format(" [rank {}]", rank) : std::string();
  logger().log(spdlog::level::info, fmt::format("imbrex{} {}: {}", where, to_string(level), one_line(text)));
} catch (...) {
  return;  // no memory for the text: a message is lost, the program goes on
}

}  // namespace imbrex

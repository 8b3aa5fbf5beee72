#include "support/removed_by_signal.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <deque>

namespace apps {
namespace {

constexpr int ending[] = {SIGINT, SIGTERM, SIGHUP};

/// Lists are kept to the end of the process: a handler may read one that is not the current one any more.
std::deque<std::vector<std::string>>& kept() {
  static auto* const all = new std::deque<std::vector<std::string>>();
  return *all;
}
std::atomic<const std::vector<std::string>*> current{nullptr};

// Calls only what a handler may. The signal does then what it would have done.
void remove_all(int signal) {
  if (const std::vector<std::string>* const paths = current.exchange(nullptr)) {
    for (const std::string& path : *paths) unlink(path.c_str());
  }
  raise(signal);
}

}  // namespace

removed_by_signal::removed_by_signal(const std::vector<std::string>& paths) {
  if (paths.empty() || current.load() != nullptr) return;
  is_first_ = true;
  current = &kept().emplace_back(paths);
  struct sigaction ours{};
  ours.sa_handler = &remove_all;
  ours.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int signal : ending) {
    struct sigaction before{};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) sigaction(signal, &ours, nullptr);
  }
}

removed_by_signal::~removed_by_signal() {
  if (!is_first_) return;
  current = nullptr;
  for (const int signal : ending) {
    struct sigaction now{};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == &remove_all) std::signal(signal, SIG_DFL);
  }
}

}  // namespace apps

#include "imbrex/runtime/rank/crash_reports.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/object/collection/chare_pe.h"
#include "imbrex/object/collection/collection.h"

namespace imbrex::detail {

namespace {

struct fatal_signal {
  int number;
  const char* name;
};
constexpr std::array<fatal_signal, 5> fatal_signals{
    {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}}};

std::array<struct sigaction, fatal_signals.size()> actions_before;
std::atomic<pid_t> runs_in{0};  // the process in which a job runs; children of fork are others
std::atomic<bool> is_told{false};

/// Of the calling thread's stack. Known before anything is wrong: asking for it allocates.
thread_local std::uintptr_t stack_low = 0;

/// A line without allocating: the memory may be what is broken.
class line {
 public:
  template <class... A>
  void add(fmt::string_view text, const A&... a) {
    const auto end = fmt::vformat_to_n(text_.data() + size_, text_.size() - size_, text, fmt::make_format_args(a...));
    size_ += std::min(end.size, text_.size() - size_);
  }
  void write_to_standard_error() {
    if (write(STDERR_FILENO, text_.data(), size_) < 0) return;  // nobody is left to be told
  }

 private:
  std::array<char, 512> text_;
  std::size_t size_ = 0;
};

void add_where(line& l, const scheduler& pe) {
  const char* const doing = pe.doing();
  l.add(" in {}", doing != nullptr ? doing : "the runtime");
  if (const actor* const who = pe.acting(); who != nullptr) {
    const auto& e = static_cast<const element_base&>(*who);
    l.add(" of {}", e.part->name_of(e));
    std::array<std::int32_t, 3> numbers{};
    const int n = e.part->index_numbers(e, numbers);
    for (int i = 0; i < n; ++i) l.add("{}{}", i == 0 ? "(" : ",", numbers[static_cast<std::size_t>(i)]);
    if (n > 0) l.add(")");
  }
  l.add(" on PE {} (rank {})", pe.id(), pe.rank().rank);
}

bool stack_is_full(int number, const siginfo_t* info) {
  constexpr std::uintptr_t beyond = 1 << 20, within = 64 << 10;
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  return number == SIGSEGV && stack_low != 0 && at + beyond >= stack_low && at < stack_low + within;
}

extern "C" void imbrex_crashes(int number, siginfo_t* info, void*) {
  std::size_t which = 0;
  while (which < fatal_signals.size() - 1 && fatal_signals[which].number != number) ++which;
  const scheduler* const pe = scheduler::current_or_null();
  if (pe != nullptr && !is_told.exchange(true)) {
    line l;
    l.add("imbrex: error: {}", fatal_signals[which].name);
    if (number == SIGABRT) l.add(" (abort, an assertion, or an exception that nobody can catch)");
    add_where(l, *pe);
    if (stack_is_full(number, info)) l.add(": its stack is full, by recursion or large local variables");
    l.add("\n");
    l.write_to_standard_error();
  }
  sigaction(number, &actions_before[which], nullptr);
  // Where an instruction failed it fails once more on return, and a signal that was sent comes again.
  if (info->si_code <= 0 || number == SIGABRT) raise(number);
}

[[maybe_unused]] void ends_by_exit(int code, void*) {
  if (runs_in.load() != getpid() || is_told.exchange(true)) return;
  line l;
  l.add("imbrex: error: exit({}) was called", code);
  if (const scheduler* const pe = scheduler::current_or_null(); pe != nullptr) add_where(l, *pe);
  l.add(
      " while a job runs: what it has not done yet is lost. End a job by co_return of its main chare, or "
      "rt().exit(code)\n");
  l.write_to_standard_error();
  if (code != 0) return;
  std::fflush(nullptr);
  _exit(exit_code_failed_entry);
}

}  // namespace

crash_reports::crash_reports() {
#if defined(__GLIBC__)  // others tell nobody the code
  static const bool listens = on_exit(&ends_by_exit, nullptr) == 0;
  static_cast<void>(listens);
#endif
  is_told = false;
  runs_in = getpid();
  for (std::size_t i = 0; i < fatal_signals.size(); ++i) {
    struct sigaction how = {};
    how.sa_sigaction = &imbrex_crashes;
    how.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(fatal_signals[i].number, &how, &actions_before[i]);
  }
}

crash_reports::~crash_reports() {
  runs_in = 0;
  for (std::size_t i = 0; i < fatal_signals.size(); ++i) {
    struct sigaction now = {};
    sigaction(fatal_signals[i].number, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &imbrex_crashes)  // else the program has taken it
      sigaction(fatal_signals[i].number, &actions_before[i], nullptr);
  }
}

signal_stack::signal_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* low = nullptr;
    std::size_t size = 0;
    if (pthread_attr_getstack(&attributes, &low, &size) == 0) stack_low = reinterpret_cast<std::uintptr_t>(low);
    pthread_attr_destroy(&attributes);
  }
  stack_t now = {};
  if (sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t mine = {};
  mine.ss_sp = memory;
  mine.ss_size = bytes;
  if (sigaltstack(&mine, nullptr) == 0) {
    memory_ = memory;
  } else {
    munmap(memory, bytes);
  }
}

signal_stack::~signal_stack() {
  if (memory_ == nullptr) return;
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(memory_, bytes);
}

}  // namespace imbrex::detail

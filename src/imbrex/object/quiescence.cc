#include "imbrex/object/quiescence.h"

#include <fmt/format.h>

#include "imbrex/object/entry_message.h"
#include "imbrex/object/reply_impl.h"

namespace imbrex {

namespace {

struct wave_answer {
  static constexpr bool counted = false;
  std::uint32_t wave = 0;
  scheduler::counts counts;
  void operator()(scheduler& pe) { pe.quiescence().answer(wave, counts); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & wave & counts;
  }
};

struct wave_probe {
  static constexpr bool counted = false;
  pe_id root = no_pe;
  std::uint32_t wave = 0;
  void operator()(scheduler& pe) {
    pe.relay(*this, priorities::normal);
    pe.send(root, wave_answer{wave, pe.message_counts()}, priorities::normal);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & wave;
  }
};

struct refusal {
  pe_id root = no_pe;
  void operator()(scheduler& pe) {
    pe.relay(*this, priorities::normal);
    pe.refuse_held();
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root;
  }
};

struct waits_answer {
  static constexpr bool counted = false;
  std::vector<std::string> lines;
  void operator()(scheduler& pe) { pe.quiescence().describe(std::move(lines)); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & lines;
  }
};

struct waits_request {
  static constexpr bool counted = false;
  pe_id root = no_pe;
  std::uint32_t failures_only = 0;
  void operator()(scheduler& pe) {
    pe.relay(*this, priorities::normal);
    pe.send(root, waits_answer{failures_only != 0 ? pe.describe_failures(16) : pe.describe_waits(16)},
            priorities::normal);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & failures_only;
  }
};

}  // namespace

void quiescence_detector::ask(const reply_to& who) {
  waiting_.push_back(who);
  pe_.set_idle_interval(eager_interval_ns);
}

void quiescence_detector::exit_when_quiet(int code) {
  exit_code_ = code;
  pe_.set_idle_interval(eager_interval_ns);
}

void quiescence_detector::look() {
  if (!wave_running_ && !reporting_) start_wave();
}

void quiescence_detector::start_wave() {
  wave_running_ = true;
  ++wave_;
  answers_ = 0;
  sums_ = {};
  wave_probe probe;
  probe.wave = wave_;
  pe_.spread(probe, priorities::normal);
}

void quiescence_detector::answer(std::uint32_t wave, const scheduler::counts& c) {
  if (wave != wave_) return;
  sums_.created += c.created;
  sums_.processed += c.processed;
  sums_.pending += c.pending;
  sums_.held += c.held;
  sums_.refused += c.refused;
  sums_.failed += c.failed;
  if (++answers_ == pe_.num_pes()) end_wave();
}

void quiescence_detector::end_wave() {
  wave_running_ = false;
  const bool balanced = sums_.created == sums_.processed && sums_.pending == 0;
  const bool twice = balanced && last_balanced_ && sums_.created == last_sums_.created;
  last_balanced_ = balanced;
  last_sums_ = sums_;
  if (twice) {
    last_balanced_ = false;
    quiet();
  } else if (balanced) {
    start_wave();  // most likely the last one
  }
}

void quiescence_detector::quiet() {
  if (!waiting_.empty()) {
    for (const reply_to& who : std::exchange(waiting_, {})) send_reply<void>(pe_, who, std::monostate{});
    if (!exit_code_) pe_.set_idle_interval(watch_interval_ns);
    return;
  }
  if (exit_code_ && sums_.held == 0 && sums_.failed == 0) {
    pe_.exit_job(*exit_code_, false);
    return;
  }
  if (sums_.held > 0 && refused_before_ != sums_.refused) {  // the last time helped
    refused_before_ = sums_.refused;
    pe_.spread(refusal{}, priorities::normal);
    return;
  }
  report_deadlock();
}

void quiescence_detector::report_deadlock() {
  reporting_ = true;
  reports_ = 0;
  lines_.clear();
  waits_request ask;
  ask.failures_only = exit_code_ && sums_.held == 0 ? 1 : 0;
  heading_ = ask.failures_only != 0 ? "tasks have failed, and nobody has awaited them:"
                                    : "deadlock: nothing is runnable or on its way, and these still wait:";
  pe_.spread(ask, priorities::normal);
}

void quiescence_detector::describe(std::vector<std::string> lines) {
  for (std::string& l : lines) lines_.push_back(std::move(l));
  if (++reports_ < pe_.num_pes()) return;
  std::string text = heading_;
  for (const std::string& l : lines_) text += "\n  " + l;
  if (lines_.empty()) text += "\n  (nothing that the runtime knows of)";
  pe_.fail_job(text, exit_code_failed_entry);
}

}  // namespace imbrex

#include "imbrex/pe/quiescence.h"

#include <algorithm>

#include <fmt/format.h>

#include "imbrex/base/log.h"
#include "imbrex/pe/reply_impl.h"

namespace imbrex {

namespace {

struct wave_answer {
  static constexpr bool counted = false;
  scheduler::counts counts;
  void operator()(scheduler& pe) { pe.quiescence().add(counts); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & counts;
  }
};

struct wave_probe {
  static constexpr bool counted = false;
  pe_id root = no_pe;
  void operator()(scheduler& pe) {
    pe.relay(*this, priorities::normal);
    pe.quiescence().count(root);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root;
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
  wait_lines lines;
  void operator()(scheduler& pe) { pe.quiescence().add(std::move(lines)); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & lines;
  }
};

struct waits_request {
  static constexpr bool counted = false;
  pe_id root = no_pe;
  bool only_failures = false;
  void operator()(scheduler& pe) {
    pe.relay(*this, priorities::normal);
    pe.quiescence().describe(root, only_failures);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & only_failures;
  }
};

}  // namespace

const char* quiescence_detector::heading_of(report r) {
  switch (r) {
    case report::failures: return "tasks have failed, and nobody has awaited them:";
    case report::left_over: return "the main chare has returned, and these wait for what cannot come any more:";
    default: return "deadlock: nothing is runnable or on its way, and these still wait:";
  }
}

void quiescence_detector::ask(const reply_to& who, bool before_others) {
  (before_others ? first_ : waiting_).push_back(who);
  look_eagerly();
}

void quiescence_detector::exit_when_quiet(int code) {
  exit_code_ = code;
  look_eagerly();
}

void quiescence_detector::look_eagerly() {
  eager_since_ns_ = pe_.now_ns();
  pe_.set_idle_interval(shortest_interval_ns);
}

// The longer it takes the more seldom: a wave costs every PE a message.
void quiescence_detector::look_again_later() {
  if (!wanted()) return;
  const std::int64_t now = pe_.now_ns();
  const std::int64_t interval = std::clamp((now - eager_since_ns_) / 16, shortest_interval_ns, longest_interval_ns);
  pe_.set_idle_interval(interval, now + interval);
}

void quiescence_detector::look() {
  if (!wave_running_ && !reporting_ && !look_at_idle_ones()) start_wave();
}

/// Sums up what idle PEs have published. False unless all PEs are here, and all others idle.
bool quiescence_detector::read_idle_ones() {
  const std::vector<scheduler*>& all = pe_.rank().pes;
  if (static_cast<int>(all.size()) != pe_.num_pes()) return false;
  sums_ = pe_.message_counts();
  epochs_.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == &pe_) continue;
    const auto theirs = all[i]->counts_while_idle().read();
    if (!theirs) return false;
    sums_ += theirs->counts;
    epochs_[i] = theirs->epoch;
  }
  return true;
}

/// None has stirred since it was read, and nothing lies in an inbox: what lay there in between would still be there,
/// for whoever takes it stirs.
bool quiescence_detector::are_idle_still() const {
  const std::vector<scheduler*>& all = pe_.rank().pes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i]->inbox_was_empty()) return false;
    if (all[i] != &pe_ && !all[i]->counts_while_idle().still(epochs_[i])) return false;
  }
  return true;
}

/// True when that told: quiescence, or that something is under way.
bool quiescence_detector::look_at_idle_ones() {
  if (!read_idle_ones()) return false;
  last_balanced_ = false;
  if (sums_.created == sums_.processed && sums_.pending == 0 && are_idle_still()) {
    quiet();
  } else {
    look_again_later();
  }
  return true;
}

void quiescence_detector::start_wave() {
  wave_running_ = true;
  pe_.spread(wave_probe{}, priorities::normal);
}

// Waves may come so close after one another that no PE is idle for as long as it takes to look after its GPU by itself
// (`scheduler::is_idle_since`).
void quiescence_detector::count(pe_id root) {
  if (pe_.devices != nullptr) pe_.devices->ensure_noticed();
  scheduler::counts c = pe_.message_counts();
  // A coroutine that goes on, or a stream's next operation, is no message, and a wave may have overtaken it.
  if (pe_.has_ready()) ++c.pending;
  wave_.begin(pe_, root, c);
  pass_counts_on();
}

void quiescence_detector::add(const scheduler::counts& c) {
  wave_.add(scheduler::counts(c));
  pass_counts_on();
}

void quiescence_detector::pass_counts_on() {
  if (!wave_.is_complete()) return;
  if (wave_.above() == no_pe) {
    end_wave(wave_.take());
  } else {
    pe_.send(wave_.above(), wave_answer{wave_.take()}, priorities::normal);
  }
}

void quiescence_detector::end_wave(const scheduler::counts& sums) {
  wave_running_ = false;
  sums_ = sums;
  const bool balanced = sums_.created == sums_.processed && sums_.pending == 0;
  const bool twice = balanced && last_balanced_ && sums_.created == last_sums_.created;
  last_balanced_ = balanced;
  last_sums_ = sums_;
  if (twice) {
    last_balanced_ = false;
    quiet();
  } else if (balanced) {
    start_wave();  // most likely the last one
  } else {
    look_again_later();
  }
}

void quiescence_detector::answer(std::vector<reply_to>& those) {
  for (const reply_to& who : std::exchange(those, {}))
    pe_.send(who.pe, reply_body<void>{who, outcome<std::monostate>()}, priorities::communication);
  wanted() ? look_eagerly() : pe_.set_idle_interval(watch_interval_ns);
}

void quiescence_detector::quiet() {
  if (!first_.empty()) return answer(first_);
  if (!waiting_.empty()) return answer(waiting_);
  if (exit_code_ && sums_.held == 0 && sums_.waiting == 0 && sums_.failed == 0) {
    pe_.exit_job(*exit_code_, false);
    return;
  }
  if (sums_.held > 0 && refused_before_ != sums_.refused) {  // the last time helped
    refused_before_ = sums_.refused;
    pe_.spread(refusal{}, priorities::normal);
    return;
  }
  ask_who_waits();
}

// ------------------------------------------------------------------------------------------------ the report

void quiescence_detector::ask_who_waits() {
  reporting_ = true;
  const bool ended = exit_code_ && sums_.held == 0;
  report_ = !ended ? report::deadlock : sums_.failed > 0 ? report::failures : report::left_over;
  waits_request ask;
  ask.only_failures = report_ == report::failures;
  pe_.spread(ask, priorities::normal);
}

wait_lines& wait_lines::operator+=(wait_lines&& more) {
  num_left_out += more.num_left_out;
  for (std::string& l : more.lines) {
    if (lines.size() < most) {
      lines.push_back(std::move(l));
    } else {
      ++num_left_out;
    }
  }
  return *this;
}

void quiescence_detector::describe(pe_id root, bool only_failures) {
  wait_lines own;
  own += wait_lines{only_failures ? pe_.describe_failures(16) : pe_.describe_waits(16)};
  waits_.begin(pe_, root, std::move(own));
  pass_lines_on();
}

void quiescence_detector::add(wait_lines&& lines) {
  waits_.add(std::move(lines));
  pass_lines_on();
}

void quiescence_detector::pass_lines_on() {
  if (!waits_.is_complete()) return;
  if (waits_.above() == no_pe) {
    write_report(waits_.take());
  } else {
    pe_.send(waits_.above(), waits_answer{waits_.take()}, priorities::normal);
  }
}

void quiescence_detector::write_report(const wait_lines& all) {
  std::vector<std::string> text{heading_of(report_)};
  for (const std::string& l : all.lines) text.push_back("  " + l);
  if (all.num_left_out > 0) text.push_back(fmt::format("  and {} more", all.num_left_out));
  if (all.lines.empty()) text.emplace_back("  (nothing that the runtime knows of)");
  if (report_ == report::left_over) {
    for (const std::string& l : text) log_warning(l);  // a message is one line
    pe_.exit_job(*exit_code_, false);
  } else {
    pe_.fail_job(fmt::format("{}", fmt::join(text, "\n")), exit_code_failed_entry);
  }
}

}  // namespace imbrex

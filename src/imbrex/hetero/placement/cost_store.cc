#include "imbrex/hetero/placement/cost_store.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex {

cost_store::cost_store(std::string file) : file_(std::move(file)) { known_.read(file_); }

void cost_store::check_writable() const {
  const std::string fresh = file_ + ".new";
  if (!std::ofstream(fresh)) {
    throw config_error(
        fmt::format("{} cannot be written, where what tasks took shall be kept: {}", file_, std::strerror(errno)));
  }
  std::remove(fresh.c_str());
}

void cost_store::learnt(const cost_model& by_now) {
  const std::lock_guard lock(mutex_);
  for (const auto& [k, m] : by_now.all()) {
    const cost_model::mean* const before = known_.find(k);
    const std::uint64_t samples = m.samples - (before != nullptr ? before->samples : 0);
    if (samples > 0) news_.add(k, {m.nanoseconds, samples});
  }
}

std::string cost_store::news() const {
  const std::lock_guard lock(mutex_);
  return news_.text();
}

/// A mean that somebody has learnt has the old one in it: it replaces that.
void cost_store::write(const std::vector<std::string>& news_of_ranks) const {
  cost_model news;
  for (const std::string& text : news_of_ranks) {
    std::istringstream in(text);
    news.add_text(in, "what a rank has learnt");
  }
  cost_model all;
  for (const auto& [k, old] : known_.all()) {
    const cost_model::mean* const fresh = news.find(k);
    all.add(k, {fresh != nullptr ? fresh->nanoseconds : old.nanoseconds, old.samples});
  }
  for (const auto& [k, m] : news.all()) all.add(k, m);
  all.write(file_);
}

}  // namespace imbrex

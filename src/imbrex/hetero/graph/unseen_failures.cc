#include "imbrex/hetero/graph/unseen_failures.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {
std::string text_of(const std::exception_ptr& e) {
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& x) {
    return x.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}
}  // namespace

/// An exception has one address, however many pointers there are to it.
const void* unseen_failures::key_of(const std::exception_ptr& e) {
  static_assert(sizeof e == sizeof(void*));
  const void* at = nullptr;
  std::memcpy(&at, static_cast<const void*>(&e), sizeof at);
  return at;
}

void unseen_failures::add(const std::exception_ptr& e) {
  const auto [at, is_new] = of_.try_emplace(key_of(e));
  if (!is_new) return;
  at->second.number = ++last_number_;
  at->second.failure = e;
}

void unseen_failures::join(const std::exception_ptr& one, const std::exception_ptr& other) {
  if (one == other) return;
  const auto a = of_.find(key_of(one)), b = of_.find(key_of(other));
  if (a == of_.end() || b == of_.end()) return;
  a->second.joined.push_back(b->first);
  b->second.joined.push_back(a->first);
}

void unseen_failures::see(const std::exception_ptr& e) {
  if (!of_.empty()) see(key_of(e));
}

void unseen_failures::see(const void* key) {
  std::vector<const void*> left{key};
  while (!left.empty()) {
    const auto at = of_.find(left.back());
    left.pop_back();
    if (at == of_.end()) continue;
    left.insert(left.end(), at->second.joined.begin(), at->second.joined.end());
    of_.erase(at);
  }
}

std::exception_ptr unseen_failures::see_first() {
  const auto earlier = [](const auto& a, const auto& b) { return a.second.number < b.second.number; };
  const std::exception_ptr first = std::ranges::min_element(of_, earlier)->second.failure;
  see(first);
  return first;
}

std::exception_ptr copy_of_failure(const std::exception_ptr& e) {
  try {
    try {
      std::rethrow_exception(e);
    } catch (const error& x) {
      throw_error(x.kind(), x.what());
    } catch (...) {
      throw remote_error(text_of(std::current_exception()));
    }
  } catch (...) {
    return std::current_exception();
  }
}

std::vector<std::string> unseen_failures::texts(std::size_t limit) const {
  std::vector<const entry*> all;
  all.reserve(of_.size());
  for (const auto& [key, e] : of_) all.push_back(&e);
  std::ranges::sort(all, {}, &entry::number);
  std::vector<std::string> lines;
  lines.reserve(std::min(limit, all.size()) + 1);
  for (std::size_t i = 0; i < std::min(limit, all.size()); ++i) lines.push_back(text_of(all[i]->failure));
  if (all.size() > limit) lines.push_back(fmt::format("and {} more", all.size() - limit));
  return lines;
}

}  // namespace imbrex

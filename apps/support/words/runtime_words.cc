#include "support/words/runtime_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace apps {
namespace {

std::string variable_of(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
  return "IMBREX_" + name;
}

}  // namespace

void runtime_words::add(const std::string& name, const std::string& value) {
  words_.push_back(fmt::format("--imbrex-{}={}", name, value));
}

void runtime_words::add_default(const std::string& name, const std::string& value) {
  if (!has(name)) add(name, value);
}

bool runtime_words::has(const std::string& name) const {
  if (std::getenv(variable_of(name).c_str()) != nullptr) return true;
  const std::string option = "--imbrex-" + name;
  return std::ranges::any_of(words_, [&](const std::string& w) { return w.substr(0, w.find('=')) == option; });
}

std::vector<char*> runtime_words::pointers() {
  std::vector<char*> all;
  all.reserve(words_.size() + 1);
  for (std::string& w : words_) all.push_back(w.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace apps

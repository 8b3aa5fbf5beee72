// Machines as TOML, by toml++.
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#endif
#define TOML_HEADER_ONLY 1  // who links imbrex needs no toml++
#include <toml++/toml.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#include "imbrex/base/error.h"
#include "imbrex/virtual_time/machine/machine_fields.h"
#include "imbrex/virtual_time/machine/machine_text.h"

namespace imbrex::detail {

namespace {

/// No time is longer than a quarter of an hour, which leaves room for a run in nanoseconds; nothing else is known to
/// need more than this either.
double most_of(std::string_view key) {
  if (key == "us" || key.ends_with("_us")) return 1e9;
  if (key == "memory_gb") return 1e6;
  if (key == "kernel" || key == "latency") return 10;  // deviations of a logarithm
  return 1e12;
}

/// One table of the file: its numbers are taken one by one, and what is left over is nobody's.
class table_reader {
 public:
  table_reader(const toml::table* t, std::string name, const std::string& whence)
      : table_(t), name_(std::move(name)), whence_(whence) {}

  template <class T>
  void operator()(const char* key, T& value, double least) {
    known_.insert(key);
    if (table_ == nullptr) return;
    const toml::node* const n = table_->get(key);
    if (n == nullptr) return;
    if constexpr (std::is_same_v<T, std::string>) {
      const auto text = n->value<std::string>();
      if (!text) fail(key, "is a text");
      value = *text;
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!n->is_boolean()) fail(key, "is true or false");
      value = *n->value<bool>();
    } else {
      const auto number = n->is_number() ? n->value<double>() : std::nullopt;
      if (!number || !std::isfinite(*number) || *number < least)
        fail(key, least > 0 ? fmt::format("is a number, at least {}", least) : "is a number, not negative");
      if (const double most = most_of(key); *number > most) fail(key, fmt::format("is a number, at most {:g}", most));
      if constexpr (std::is_same_v<T, int>) {
        if (*number != std::floor(*number) || *number > std::numeric_limits<int>::max()) fail(key, "is a whole number");
      }
      value = static_cast<T>(*number);
    }
  }

  void refuse_others() const {
    if (table_ == nullptr) return;
    for (const auto& [key, node] : *table_) {
      if (!known_.contains(std::string(key.str())))
        throw config_error(fmt::format("{}: [{}] has no '{}': see docs/virtual-time.md", whence_, name_, key.str()));
    }
  }

 private:
  [[noreturn]] void fail(const char* key, const std::string& what) const {
    throw config_error(fmt::format("{}: {} of [{}] {}", whence_, key, name_, what));
  }

  const toml::table* table_;
  std::string name_;
  const std::string& whence_;
  std::set<std::string, std::less<>> known_;
};

void read_kernels(const toml::table& all, machine& m, const std::string& whence) {
  const toml::table* const kernels = all["kernels"].as_table();
  if (kernels == nullptr) return;
  for (const auto& [key, node] : *kernels) {
    const std::string name(key.str());
    table_reader read(node.as_table(), "kernels.\"" + name + "\"", whence);
    if (node.as_table() == nullptr) throw config_error(fmt::format("{}: kernels.\"{}\" is a table", whence, name));
    visit_kernel(m.kernels[name], [&](const char* k, double& value, double least) { read(k, value, least); });
    read.refuse_others();
  }
}

}  // namespace

machine machine_from_text(const std::string& text, const std::string& whence) {
  toml::table all;
  try {
    all = toml::parse(text);
  } catch (const toml::parse_error& e) {
    throw config_error(fmt::format("{}, line {}: {}", whence, e.source().begin.line, e.description()));
  }
  machine m;
  std::set<std::string, std::less<>> parts{"kernels"};
  table_reader top(&all, "the file", whence);
  top("name", m.name, 0);
  top("description", m.description, 0);
  visit_parts(m, [&](const char* name, auto fields) {
    parts.insert(name);
    const toml::node* const n = all.get(name);
    if (n != nullptr && !n->is_table()) throw config_error(fmt::format("{}: [{}] is a table", whence, name));
    table_reader read(n != nullptr ? n->as_table() : nullptr, name, whence);
    fields([&](const char* key, auto& value, double least) { read(key, value, least); });
    read.refuse_others();
  });
  read_kernels(all, m, whence);
  for (const auto& [key, node] : all) {
    if (key.str() != "name" && key.str() != "description" && !parts.contains(key.str()))
      throw config_error(fmt::format("{}: a machine has no part '{}': see docs/virtual-time.md", whence, key.str()));
  }
  if (m.name.empty()) m.name = whence;
  return m;
}

}  // namespace imbrex::detail

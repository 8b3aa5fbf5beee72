#include "imbrex/device/kernel/text/region_rules.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/device/kernel/text/kernel_words.h"

namespace imbrex::detail {

namespace {

/// Goes through the words of a text.
class region_reader {
 public:
  explicit region_reader(std::string_view text) : words_(words_of(text)) {}

  void check() {
    for (at_ = 0; at_ < words_.size(); ++at_) {
      const std::string& w = words_[at_];
      if (w.starts_with("IX_KERNEL")) {
        kernel_ = word(at_ + 2);
      } else if (w.starts_with("IX_ITEMS") || w == "IX_STREAM_BELOW") {
        if (in_region()) refuse("a region stands in a region: end the first one before");
        begins_ = true;
      } else if (w == "(") {
        ++brackets_;
      } else if (w == ")") {
        --brackets_;
      } else if (w == "{") {
        open();
      } else if (w == "}") {
        close();
      } else if (w == ";" && brackets_ == 0) {
        begins_ = false;
        end_statement();
      } else if (in_region()) {
        read_in_region(w);
      }
    }
  }

 private:
  /// In a region, as far as its words tell: a loop or switch, which `break` ends.
  struct loop {
    int depth;
    bool has_braces;
  };

  bool in_region() const { return begins_ || region_ != 0; }
  std::string_view word(std::size_t i) const { return i < words_.size() ? words_[i] : std::string_view(); }

  void read_in_region(const std::string& w) {
    if (w == "for" || w == "while" || w == "do" || w == "switch") {
      loops_.push_back({depth_, false});
    } else if (w == "return") {
      refuse("return leaves a region: end an item by continue, outside of loops of the region's own");
    } else if (w == "break" && loops_.empty()) {
      refuse("break leaves a region: end an item by continue, outside of loops of the region's own");
    }
  }
  void open() {
    if (!loops_.empty() && loops_.back().depth == depth_) loops_.back().has_braces = true;
    ++depth_;
    if (!begins_) return;
    begins_ = false;
    if (region_ == 0) region_ = depth_;
  }
  void close() {
    if (region_ == depth_) {
      region_ = 0;
      loops_.clear();
    }
    --depth_;
    if (!loops_.empty() && loops_.back().depth == depth_ && loops_.back().has_braces) loops_.pop_back();
    end_statement();
  }
  /// Loops without braces end with the statement that is their body.
  void end_statement() {
    if (word(at_ + 1) == "else") return;
    while (!loops_.empty() && loops_.back().depth == depth_ && !loops_.back().has_braces) loops_.pop_back();
    if (region_ == 0 && !begins_) loops_.clear();
  }
  [[noreturn]] void refuse(const char* what) const {
    throw usage_error(fmt::format("kernel '{}': {} (docs/kernels.md)", kernel_, what));
  }

  const std::vector<std::string> words_;
  std::size_t at_ = 0;
  std::string kernel_;
  int depth_ = 0;
  int brackets_ = 0;
  bool begins_ = false;  ///< IX_ITEMS has been read, and no brace or semicolon since
  int region_ = 0;       ///< the depth of its braces; 0: outside
  std::vector<loop> loops_;
};

}  // namespace

void check_regions(std::string_view text) { region_reader(text).check(); }

}  // namespace imbrex::detail

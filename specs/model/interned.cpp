#include "specs/model/interned.hpp"

#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "specs/model/append_only.hpp"
#include "specs/model/id_table.hpp"

namespace lockstep {
namespace {

// Constant-initialised, so that reading needs no guard and works before and after main().
constinit AppendOnly<std::string_view> texts;

class TextPool {
 public:
  TextPool() { texts.push_back({}); }

  TextId intern(std::string_view text) {
    if (text.empty()) return 0;
    return ids_.find_or_add(
        std::hash<std::string_view>{}(text), [text](TextId id) { return texts[id] == text; },
        [this, text] { return add(text); });
  }

 private:
  TextId add(std::string_view text) {
    const std::scoped_lock lock(mutex_);
    return texts.push_back(keep(text));
  }

  std::string_view keep(std::string_view text) {
    if (text.size() > kBlock / 4) {
      blocks_.push_back(std::make_unique<char[]>(text.size()));
      std::memcpy(blocks_.back().get(), text.data(), text.size());
      return {blocks_.back().get(), text.size()};
    }
    if (left_ < text.size()) {
      blocks_.push_back(std::make_unique<char[]>(kBlock));
      next_ = blocks_.back().get();
      left_ = kBlock;
    }
    char* const place = next_;
    std::memcpy(place, text.data(), text.size());
    next_ += text.size();
    left_ -= text.size();
    return {place, text.size()};
  }

  static constexpr std::size_t kBlock = 1U << 16;
  IdTable ids_;
  std::mutex mutex_;  // protects `texts` and the blocks
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
};

TextPool& pool() {
  static TextPool the_pool;
  return the_pool;
}

}  // namespace

TextId intern(std::string_view text) { return pool().intern(text); }
std::string_view interned_text(TextId id) { return id == 0 ? std::string_view{} : texts[id]; }

}  // namespace lockstep

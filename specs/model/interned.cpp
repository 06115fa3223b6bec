#include "specs/model/interned.hpp"

#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "specs/model/append_only.hpp"

namespace lockstep {
namespace {

class TextPool {
 public:
  TextPool() { add(std::string_view{}); }

  TextId intern(std::string_view text) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
    return add(text);
  }

  std::string_view text(TextId id) const { return texts_[id]; }

 private:
  TextId add(std::string_view text) {
    const std::string_view kept = keep(text);
    const TextId id = texts_.push_back(kept);
    ids_.emplace(kept, id);
    return id;
  }

  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
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
  std::mutex mutex_;
  AppendOnly<std::string_view> texts_;
  std::unordered_map<std::string_view, TextId> ids_;
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
std::string_view interned_text(TextId id) { return pool().text(id); }

}  // namespace lockstep

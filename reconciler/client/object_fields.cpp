#include "reconciler/client/object_fields.hpp"

#include <algorithm>

#include "reconciler/report/escape.hpp"

namespace lockstep::client {

const nlohmann::json* find_at(const nlohmann::json& object, std::string_view path) {
  const nlohmann::json* at = &object;
  while (!path.empty()) {
    if (!at->is_object()) return nullptr;
    const std::size_t end = path.find('.');
    const auto found = at->find(std::string(path.substr(0, end)));
    if (found == at->end() || found->is_null()) return nullptr;
    at = &*found;
    path = end == path.npos ? std::string_view() : path.substr(end + 1);
  }
  return at;
}

std::string one_line(const nlohmann::json& value) {
  std::string out = json_text(value, -1);
  out.pop_back();
  return out;
}

std::string text_at(const nlohmann::json& object, std::string_view path) {
  const nlohmann::json* const found = find_at(object, path);
  if (found == nullptr) return "";
  if (found->is_string()) return found->get<std::string>();
  return one_line(*found);
}

bool is_true_at(const nlohmann::json& object, std::string_view path) {
  const nlohmann::json* const found = find_at(object, path);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

std::size_t size_at(const nlohmann::json& object, std::string_view path) {
  const nlohmann::json* const found = find_at(object, path);
  return found != nullptr && found->is_array() ? found->size() : 0;
}

const nlohmann::json* condition_of(const nlohmann::json& object, std::string_view type) {
  const nlohmann::json* const all = find_at(object, "status.conditions");
  if (all == nullptr || !all->is_array()) return nullptr;
  for (const nlohmann::json& one : *all)
    if (text_at(one, "type") == type) return &one;
  return nullptr;
}

std::string short_revision(std::string_view name, bool whole) {
  constexpr std::string_view kSha = "sha256:";
  constexpr std::size_t kShort = 12;  // as git shortens a hash in a large repository
  if (whole) return std::string(name);
  if (name.starts_with(kSha)) name.remove_prefix(kSha.size());
  const std::size_t dot = std::min(name.find('.'), name.size());  // before the intents' digest
  return std::string(name.substr(0, std::min(dot, kShort))) + std::string(name.substr(dot));
}

}  // namespace lockstep::client

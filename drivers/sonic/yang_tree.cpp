#include "drivers/sonic/yang_tree.hpp"

#include <array>

namespace lockstep::sonic {
namespace {

std::string joined_keys(const lyd_node& entry) {
  std::string out;
  for (const lyd_node* key = lyd_child(&entry); key != nullptr && lysc_is_key(key->schema); key = key->next)
    out += (out.empty() ? "" : "|") + std::string(lyd_get_value(key));
  return out;
}

}  // namespace

lyd_node* YangData::container(lyd_node* parent, const lysc_node& kind) {
  lyd_node*& known = containers_[{parent, &kind}];
  if (known != nullptr) return known;
  if (lyd_new_inner(parent, kind.module, kind.name, 0, &known) != LY_SUCCESS || parent != nullptr)
    return known;
  lyd_node* first = tree_.release();
  (void)lyd_insert_sibling(first, known, &first);
  tree_.reset(first);
  return known;
}

lyd_node* YangData::entry(lyd_node* parent, const lysc_node& list, const std::vector<std::string>& keys,
                          const ConfigPlace& place) {
  std::array<const char*, kKeysMax> k{};
  for (std::size_t i = 0; i < keys.size(); ++i) k.at(i) = keys[i].c_str();
  lyd_node* made = nullptr;
  // It reads as many as the list has keys.
  const LY_ERR failed =
      lyd_new_list(parent, list.module, list.name, 0, &made, k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7]);
  if (failed == LY_SUCCESS) return made;
  misfit_row(place, "the key: " + take_message(*schema_.context).text);
  return nullptr;
}

void YangData::leaf(lyd_node* parent, const lysc_node& kind, const std::string& value,
                    const ConfigPlace& place) {
  if (lyd_new_term(parent, kind.module, kind.name, value.c_str(), 0, nullptr) != LY_SUCCESS)
    misfit(place, take_message(*schema_.context).text);
}

void YangData::misfit(const ConfigPlace& place, std::string message) {
  misfits_.emplace(place.table, place.key);
  fault(place, std::move(message));
}

void YangData::misfit_row(const ConfigPlace& place, std::string message) {
  lacks_rows_ = true;
  misfit(place, std::move(message));
}

void YangData::fault(const ConfigPlace& place, std::string message) {
  findings_.add({place.table, place.key, place.field, std::move(message)});
}

ConfigPlace place_of(const lyd_node& node) {
  std::vector<const lyd_node*> chain;  // module, table, row, field, and in a map its value
  for (const lyd_node* at = &node; at != nullptr; at = lyd_parent(at)) chain.insert(chain.begin(), at);
  ConfigPlace place;
  if (chain.size() > 1) place.table = chain[1]->schema->name;
  if (chain.size() > 2)
    place.key = chain[2]->schema->nodetype == LYS_LIST ? joined_keys(*chain[2]) : chain[2]->schema->name;
  if (chain.size() > 3 && !lysc_is_key(chain[3]->schema))
    place.field = chain[3]->schema->nodetype == LYS_LIST ? joined_keys(*chain[3]) : chain[3]->schema->name;
  return place;
}

}  // namespace lockstep::sonic

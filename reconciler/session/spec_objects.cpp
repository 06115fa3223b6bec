#include "reconciler/session/spec_objects.hpp"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_map>

#include "reconciler/engine/digest.hpp"
#include "specs/language/node.hpp"
#include "specs/language/scalars.hpp"
#include "specs/language/secret_lines.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr const char* kHidden = "(not shown)";
using Lines = std::set<std::uint32_t>;

// What is on `hidden` lines may be a secret.
Json json_of(const Literal& literal, const Lines& hidden) {
  using enum Literal::Shape;
  if (literal.shape != list && literal.shape != map && hidden.contains(literal.at.line)) return kHidden;
  Json out;
  switch (literal.shape) {
    case null: break;
    case boolean: out = literal.boolean; break;
    case integer: out = literal.integer; break;
    case number: out = std::strtod(literal.text.c_str(), nullptr); break;
    case text: out = literal.text; break;
    case list:
      out = Json::array();
      for (const Literal& one : literal.items) out.push_back(json_of(one, hidden));
      break;
    case map:
      out = Json::object();
      for (const MapEntry<Literal>& one : literal.fields) out[*one.key] = json_of(*one.value, hidden);
      break;
  }
  return out;
}

void add_spec(const Node& spec, const SourceFile& file, const Lines& hidden, SpecObject& object) {
  if (spec.expanded <= kSpecNodesMost)
    object.spec = json_of(literal_of(spec), hidden).dump(-1, ' ', false, Json::error_handler_t::replace);
  Digest digest;
  digest.add(object.spec.empty() ? file.text : object.spec);
  object.digest = digest.finish();
}

// Documents that are no objects are skipped: the specs are valid, so they are no specs.
void add_document(const Node& root, const SourceFile& file, const Lines& hidden,
                  std::vector<SpecObject>& out) {
  const Node* const version = root.find("apiVersion");
  const Node* const kind = root.find("kind");
  const Node* const metadata = root.find("metadata");
  const Node* const spec = root.find("spec");
  if (version == nullptr || kind == nullptr || metadata == nullptr || spec == nullptr) return;
  const KindRow* const row = version->text == api_version ? find_kind(kind->text) : nullptr;
  const Node* const name = metadata->find("name");
  if (row == nullptr || row->written_by_reconciler || name == nullptr) return;
  SpecObject object{.kind = row, .name = name->text};
  object.file = file.name;
  object.line = root.at.line;
  if (const Node* const labels = metadata->find("labels"); labels != nullptr)
    for (const auto& [key, value] : labels->fields) object.labels[key->text] = value->text;
  add_spec(*spec, file, hidden, object);
  out.push_back(std::move(object));
}

std::vector<SpecObject> written_in(const Catalog& catalog) {
  std::vector<SpecObject> out;
  Diagnostics ignored;  // of a catalog without errors
  Reporter reporter(catalog.sources, ignored);
  for (std::uint32_t file = 1; file < catalog.sources.files.size(); ++file) {
    const SourceFile& one = catalog.sources.files[file];
    if (std::ranges::count(catalog.platform_files, file) > 0 ||
        one.text.find("apiVersion") == std::string::npos)
      continue;
    const Lines hidden = lines_with_secrets(one.text);
    read_documents(file, reporter, [&](const Node& root) { add_document(root, one, hidden, out); });
  }
  std::ranges::sort(out, {}, [](const SpecObject& one) { return std::tie(one.kind, one.name); });
  return out;
}

// Of one device: how often each object occurs.
class Counter {
 public:
  explicit Counter(std::size_t objects) : counts_(objects) {}
  void add(std::size_t object) {
    if (object >= counts_.size()) return;
    if (counts_[object]++ == 0) seen_.push_back(object);
  }
  void move_to(std::vector<SpecObject>& all, std::uint32_t device) {
    for (const std::size_t object : seen_) {
      all[object].places.push_back({device, counts_[object]});
      all[object].entries += counts_[object];
      counts_[object] = 0;
    }
    seen_.clear();
  }

 private:
  std::vector<std::uint32_t> counts_;
  std::vector<std::size_t> seen_;
};

// By OriginId; as many as there are objects: of none.
std::vector<std::size_t> objects_of(const Origins& origins, const std::vector<SpecObject>& all) {
  std::unordered_map<std::string, std::size_t> by_title;
  for (std::size_t i = 0; i < all.size(); ++i) by_title.emplace(all[i].title(), i);
  std::vector<std::size_t> out;
  out.reserve(origins.all.size());
  for (const Origin& origin : origins.all) {
    const auto found = by_title.find(origin.object);
    out.push_back(found == by_title.end() ? all.size() : found->second);
  }
  return out;
}

void add_places(const Compiled& compiled, SpecObjects& out) {
  const std::vector<std::size_t> object_of = objects_of(compiled.origins, out.all);
  Counter counter(out.all.size());
  for (const Intent& intent : compiled.intents) {
    const auto device = static_cast<std::uint32_t>(out.devices.size());
    out.devices.push_back(intent.device);
    out.gpus.push_back(gpus_of(intent));
    for (const Entry& entry : intent.want.entries()) counter.add(object_of[entry.origin]);
    for (const Claim& claim : intent.claims) counter.add(object_of[claim.origin]);
    counter.move_to(out.all, device);
    for (const Overruled& one : intent.overruled)
      if (const std::size_t object = object_of[one.origin]; object < out.all.size())
        ++out.all[object].overruled;
  }
}

void add_policies(const Catalog& catalog, const Compiled& compiled, SpecObjects& out) {
  std::map<std::string, std::size_t> governed;
  for (const std::uint32_t policy : compiled.rollout)
    if (policy < catalog.rollout_policies.size())
      ++governed["RolloutPolicy/" + *catalog.rollout_policies[policy].metadata.name];
  for (SpecObject& one : out.all)
    if (const auto found = governed.find(one.title()); found != governed.end()) one.governs = found->second;
}

std::optional<SpecObjects::Cost> cost_of(const Catalog& catalog) {
  for (const Cluster& one : catalog.clusters)
    if (one.cost.said) return SpecObjects::Cost{one.cost->gpu_hour->number(), *one.cost->currency};
  return std::nullopt;
}

}  // namespace

std::shared_ptr<const SpecObjects> spec_objects(const OpenedCluster& cluster) {
  SpecObjects out;
  out.all = written_in(cluster.catalog);
  add_places(cluster.compiled, out);
  add_policies(cluster.catalog, cluster.compiled, out);
  out.cost = cost_of(cluster.catalog);
  return std::make_shared<const SpecObjects>(std::move(out));
}

}  // namespace lockstep

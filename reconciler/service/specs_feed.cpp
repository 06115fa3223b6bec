#include "reconciler/service/specs_feed.hpp"

#include <fmt/format.h>

#include <utility>

#include "reconciler/engine/digest.hpp"
#include "reconciler/measure/measure.hpp"
#include "reconciler/service/kept_revision.hpp"
#include "reconciler/session/lock_change.hpp"

namespace lockstep {
namespace {

std::string problem_text(const Diagnostic& one, const Sources& sources) {
  std::string out;
  if (const std::string& file = sources.files.at(one.at.file).name; !file.empty())
    out = fmt::format("{}:{}:{}: ", file, one.at.line, one.at.column);
  out += one.code + ": " + one.message;
  return one.hint.empty() ? out : out + "; " + one.hint;
}

// As the author knows them: relative to the revision, not to where its copy is.
void name_relatively(Sources& sources, const std::string& folder) {
  for (SourceFile& file : sources.files)
    if (file.name.starts_with(folder + "/")) file.name.erase(0, folder.size() + 1);
}

// What the compiled specs are, apart from the text that they came from.
std::string intents_of(const OpenedCluster& cluster) {
  Digest digest;
  digest.add(config_hash(cluster.compiled));
  for (const auto& [device, why] : cluster.maintenance) {
    digest.add(device);
    digest.add(why);
  }
  return digest.finish();
}

class SourceFeed final : public SpecsFeed {
 public:
  SourceFeed(std::unique_ptr<Source> source, SpecsAim aim)
      : source_(std::move(source)), aim_(std::move(aim)) {}

  FetchedSpecs fetch(const Call& call, bool again) override {
    auto fetched = source_->fetch(call);
    if (auto* const trouble = std::get_if<SourceError>(&fetched)) return std::move(*trouble);
    Revision& revision = std::get<Revision>(fetched);
    const Date day = today();
    if (!again && revision.id == last_ && day == last_day_) return SameSpecs{};
    last_ = revision.id;
    last_day_ = day;
    LoadedSpecs loaded = load(revision);
    if (auto* const bad = std::get_if<InvalidSpecs>(&loaded)) return std::move(*bad);
    return std::get<ValidSpecs>(std::move(loaded));
  }

  LoadedSpecs load(const Revision& revision) override {
    const std::string& folder = revision.folder->path();
    const auto invalid = [&](std::string problem) { return InvalidSpecs{revision, {std::move(problem)}}; };
    Result<OpenedCluster> cluster = load_cluster({.specs = {folder},
                                                  .twin = aim_.twin,
                                                  .stands_for = aim_.stands_for,
                                                  .max_entries = aim_.max_entries});
    if (!cluster) return invalid(cluster.error().text());
    name_relatively(cluster->catalog.sources, folder);
    if (!cluster->valid()) {
      InvalidSpecs out{revision, {}};
      for (const Diagnostic& one : cluster->diagnostics)
        if (one.severity == Severity::error)
          out.problems.push_back(problem_text(one, cluster->catalog.sources));
      return out;
    }
    if (const Result<Done> any = has_devices(*cluster); !any) return invalid(any.error().text());
    if (std::string why = why_not_locked(*cluster); !why.empty()) return invalid(std::move(why));
    RevisionId id{revision.id, intents_of(*cluster)};
    auto objects = spec_objects(*cluster);
    return ValidSpecs{revision, std::move(id), *std::move(cluster), std::move(objects)};
  }

  Result<Done> keep(const std::vector<Revision>& all) override { return keep_revisions(all, aim_.keeps); }
  Result<std::vector<Revision>> kept() override { return kept_revisions(aim_.keeps); }
  std::string title() const override { return source_->title(); }

 private:
  const std::unique_ptr<Source> source_;
  const SpecsAim aim_;
  std::string last_;  // returned by fetch()
  Date last_day_{};
};

}  // namespace

std::string identity_of(const OpenedCluster& cluster) {
  return cluster.state_name() + (cluster.uuid().empty() ? "" : " " + cluster.uuid());
}

std::string why_not_locked(const OpenedCluster& cluster) {
  const LockChange change = lock_change(cluster);
  if (cluster.twin || change.empty()) return "";
  return fmt::format("allocations.lock: {}; run `lockstep lock` and commit the file",
                     change.identifies
                         ? "the cluster's UUID is missing"
                         : fmt::format("{} numbers are missing, as that of {}", change.given.size(),
                                       change.given.empty() ? "" : change.given.front()));
}

std::string InvalidSpecs::text() const {
  return problems.size() < 2 ? problems.front()
                             : fmt::format("{} (and {} more)", problems.front(), problems.size() - 1);
}

std::unique_ptr<SpecsFeed> make_specs_feed(std::unique_ptr<Source> source, SpecsAim aim) {
  return std::make_unique<SourceFeed>(std::move(source), std::move(aim));
}

}  // namespace lockstep

#include "feed.hpp"

#include <filesystem>
#include <fstream>
#include <utility>

#include "reconciler/session/identity.hpp"
#include "tests/plain_folder.hpp"

namespace lockstep::service_simulation {
namespace {

constexpr const char* kOther = "@other";

void write_files(const std::string& folder, const std::map<std::string, std::string>& files) {
  std::filesystem::create_directories(folder);
  for (const auto& [name, text] : files) std::ofstream(folder + "/" + name) << text;
}

// The cluster's UUID and numbers, as `lockstep lock` writes them: the same for all commits.
const std::string& lock_text(const std::string& folder) {
  static const std::string kText = [&folder] {
    const std::string specs = folder + "/lock";
    write_files(specs, files_of({.id = "lock", .values = {1, 1, 1, 1}}, false, ""));
    Result<OpenedCluster> cluster = load_cluster({.specs = {specs}});
    if (!cluster || !cluster->valid() || !settle_identity(*cluster, "lockstep lock", WallTime()) ||
        !write_numbers(*cluster))
      throw std::runtime_error("the specs of the simulation get no numbers");
    std::ifstream file(specs + "/allocations.lock");
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  return kText;
}

class KindFeed final : public SpecsFeed {
 public:
  KindFeed(std::unique_ptr<SpecsFeed> real, Kind kind, std::function<void()> called)
      : real_(std::move(real)), kind_(kind), called_(std::move(called)) {}

  FetchedSpecs fetch(const Call& call, bool again) override {
    called_();
    FetchedSpecs out = real_->fetch(call, again);
    if (auto* const valid = std::get_if<ValidSpecs>(&out)) compile(*valid);
    called_();
    return out;
  }
  LoadedSpecs load(const Revision& revision) override {
    called_();
    LoadedSpecs out = real_->load(revision);
    if (auto* const valid = std::get_if<ValidSpecs>(&out)) compile(*valid);
    called_();
    return out;
  }
  Result<Done> keep(const std::vector<Revision>& revisions) override {
    called_();
    Result<Done> out = real_->keep(revisions);
    called_();
    return out;
  }
  Result<std::vector<Revision>> kept() override {
    called_();
    return real_->kept();
  }
  std::string title() const override { return real_->title(); }

 private:
  void compile(ValidSpecs& specs) const {
    if (kind_ == Kind::plain) return;
    const std::string before = config_text(specs.cluster);
    compile_otherwise(specs.cluster);
    if (config_text(specs.cluster) != before) specs.id.intents += kOther;
  }
  static std::string config_text(const OpenedCluster& cluster) {
    std::string out;
    for (const Intent& one : cluster.compiled.intents) out += one.want.to_string();
    return out;
  }

  std::unique_ptr<SpecsFeed> real_;
  Kind kind_;
  std::function<void()> called_;
};

}  // namespace

class Repository::Fetches final : public Source {
 public:
  explicit Fetches(const Repository& of) : of_(of) {}
  std::variant<Revision, SourceError> fetch(const Call&) override {
    if (of_.trouble) return SourceError{*of_.trouble, {ErrorKind::transient, "the repository is in trouble"}};
    Revision out{.id = of_.head_, .author = "Ada <ada@example.org>", .subject = "commit " + of_.head_};
    out.folder = std::make_shared<PlainFolder>(of_.folder_of(of_.head_));
    return out;
  }
  std::string title() const override { return "simulated"; }

 private:
  const Repository& of_;
};

void Repository::commit(const Commit& commit) {
  commits_[commit.id] = commit;
  write_files(folder_of(commit.id), files_of(commit, has_window_, lock_text(folder_)));
  head_ = commit.id;
}

std::unique_ptr<Source> Repository::source() const { return std::make_unique<Fetches>(*this); }

Key key_of(const Commit& commit, Kind kind) {
  const bool is_other = kind == Kind::other && commit.values[static_cast<std::size_t>(Group::open)];
  return commit.id + (is_other ? kOther : "@plain");
}

Key key_of(const RevisionId& id) { return id.source + (id.intents.ends_with(kOther) ? kOther : "@plain"); }
std::string source_of(const Key& key) { return key.substr(0, key.find('@')); }
Kind kind_of(const Key& key) { return key.ends_with(kOther) ? Kind::other : Kind::plain; }

void compile_otherwise(OpenedCluster& cluster) {
  const Path path = *Path::parse(path_of(Group::open));
  for (const std::string& host : hosts_of(Group::open))
    for (Intent& intent : cluster.compiled.intents) {
      const Entry* const entry = intent.device == host ? intent.want.find(path) : nullptr;
      if (entry == nullptr) continue;
      const Entry old = *entry;
      intent.want.set(path, Value::text(other_value(old.value.to_string())), old.origin);
    }
}

std::unique_ptr<SpecsFeed> make_feed(std::unique_ptr<SpecsFeed> real, Kind kind,
                                     std::function<void()> called) {
  return std::make_unique<KindFeed>(std::move(real), kind, std::move(called));
}

}  // namespace lockstep::service_simulation

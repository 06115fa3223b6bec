#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "reconciler/engine/step_order.hpp"
#include "reconciler/engine/steps.hpp"

namespace lockstep {
namespace {

constexpr std::uint32_t kNoStep = 0xFFFF'FFFF;

double budget_of(const DeviceInput& device) {
  return device.policy == nullptr ? 0 : device.policy->least_capacity(device.role);
}

// Gathers ready nodes into steps, one bucket (wave, device, driver) at a time, preferring the bucket that has
// the least left to wait for: a device's changes stay in one step wherever the order allows.
class Gatherer {
 public:
  Gatherer(const PlanInput& input, const std::vector<DeviceAtoms>& atoms, const OrderGraph& order)
      : input_(input), atoms_(atoms), order_(order) {}

  OrderedDrafts gather() {
    find_split_devices();
    find_held();
    find_behind();
    make_buckets();
    step_of_.assign(order_.nodes.size(), kNoStep);
    sources_.resize(order_.nodes.size());
    for (std::uint32_t n = 0; n < order_.nodes.size(); ++n)
      if (waits_[n] == 0) ready(n);
    while (!queue_.empty()) {
      const std::uint32_t bucket = std::get<3>(*queue_.begin());
      drain(bucket);
    }
    for (StepDraft& draft : drafts_) finish(draft);
    join_ends();
    return {std::move(drafts_), std::move(barriers_)};
  }

 private:
  struct Bucket {
    std::uint32_t wave = 1;
    bool is_remedy = false;  // runs after everything else in its wave
    std::uint32_t device = 0;
    std::size_t left = 0;
    std::set<std::uint32_t> ready;
  };
  // What a node waits for: ids of steps, numbers of barriers.
  struct Sources {
    std::set<std::uint32_t> steps;
    std::set<std::uint32_t> barriers;
    void add(const Sources& more) {
      steps.insert(more.steps.begin(), more.steps.end());
      barriers.insert(more.barriers.begin(), more.barriers.end());
    }
  };
  enum class HeldBy : std::uint8_t { none, policy, gate, far_end, before_it, other_end };
  // Wave, whether it is a remedy, blocked, bucket.
  using Turn = std::tuple<std::uint32_t, bool, std::size_t, std::uint32_t>;

  const Atom& atom(std::uint32_t node) const {
    return atoms_[order_.nodes[node].device].atoms[order_.nodes[node].atom];
  }

  // A device whose changed cables can't all be out at once is changed cable by cable.
  void find_split_devices() {
    if (input_.wiring == nullptr || !input_.wiring->capacity_left) return;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint32_t>> cables;
    for (const OrderNode& node : order_.nodes)
      if (node.device != kBarrier && node.live && node.cable != kNoCable)
        cables[{node.device, node.wave}].insert(node.cable);
    for (const auto& [where, those] : cables) {
      const double least = budget_of(input_.devices[where.first]);
      if (least <= 0 || those.size() < 2) continue;
      const Outage outage = input_.out_of_service.with({{}, {those.begin(), those.end()}});
      if (input_.wiring->capacity_left(outage) < least) split_.insert(where);
    }
  }

  // What comes after a held atom is not done either, nor what must be alike at the other end of its cable:
  // neither may share a step with what can run.
  void find_held() {
    held_.assign(order_.nodes.size(), HeldBy::none);
    for (std::uint32_t n = 0; n < order_.nodes.size(); ++n) {
      if (order_.nodes[n].device == kBarrier) continue;
      if (!atom(n).refused.empty())
        held_[n] = HeldBy::policy;
      else if (!atom(n).undone.empty())
        held_[n] = HeldBy::gate;
      else if (!atom(n).far_ends.empty())
        held_[n] = HeldBy::far_end;
    }
    do {
      hold_what_follows();
    } while (hold_other_ends());
  }

  void hold_what_follows() {
    for (const std::uint32_t n : order_.topological) {
      if (order_.nodes[n].device == kBarrier || held_[n] == HeldBy::none) continue;
      for (const std::uint32_t next : order_.after[n])
        if (held_[next] == HeldBy::none) held_[next] = HeldBy::before_it;
    }
  }

  // True: more are held now.
  bool hold_other_ends() {
    bool more = false;
    for (const Tie& tie : order_.ties) {
      const auto held = [this](std::uint32_t n) { return held_[n] != HeldBy::none; };
      if (std::none_of(tie.nodes.begin(), tie.nodes.end(), held)) continue;
      for (const std::uint32_t n : tie.nodes)
        if (!held(n)) {
          held_[n] = HeldBy::other_end;
          more = true;
        }
    }
    return more;
  }

  void make_buckets() {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::string, std::string, std::uint32_t, HeldBy, bool,
                        bool, bool>,
             std::uint32_t>
        known;
    bucket_of_.assign(order_.nodes.size(), 0);
    waits_.assign(order_.nodes.size(), 0);
    for (const auto& those : order_.after)
      for (const std::uint32_t n : those) ++waits_[n];
    for (std::uint32_t n = 0; n < order_.nodes.size(); ++n) {
      const OrderNode& node = order_.nodes[n];
      if (node.device == kBarrier) continue;
      const bool alone = node.live && split_.contains({node.device, node.wave});
      const auto [found, is_new] = known.try_emplace(
          {node.wave, node.device, atom(n).driver, atom(n).remedy, alone ? node.cable : kNoCable, held_[n],
           atom(n).half == Half::removes, atom(n).apart, atom(n).quiet.empty()},
          static_cast<std::uint32_t>(buckets_.size()));
      if (is_new)
        buckets_.push_back(Bucket{.wave = node.wave,
                                  .is_remedy = !atom(n).remedy.empty(),
                                  .device = node.device,
                                  .left = 0,
                                  .ready = {}});
      bucket_of_[n] = found->second;
      ++buckets_[found->second].left;
    }
  }

  Turn turn(std::uint32_t bucket) const {
    const Bucket& one = buckets_[bucket];
    return {one.wave, one.is_remedy, one.left - one.ready.size(), bucket};
  }

  void ready(std::uint32_t node) {
    if (order_.nodes[node].device == kBarrier) {
      release(node, gone_through(node));
      return;
    }
    const std::uint32_t bucket = bucket_of_[node];
    if (bucket != open_ && !buckets_[bucket].ready.empty()) queue_.erase(turn(bucket));
    buckets_[bucket].ready.insert(node);
    if (bucket != open_) queue_.insert(turn(bucket));
  }

  // What nodes after a barrier of the order wait for: a barrier of the plan, or the steps themselves if they
  // are few.
  Sources gone_through(std::uint32_t node) {
    std::set<std::uint32_t> all = sources_[node].steps;
    for (const std::uint32_t number : sources_[node].barriers) {
      const std::vector<std::uint32_t>& steps = barriers_[number - 1].after;
      all.insert(steps.begin(), steps.end());
    }
    std::set<std::uint32_t> buckets;
    for (const std::uint32_t next : order_.after[node]) buckets.insert(bucket_of_[next]);
    if (!barrier_pays(all.size(), buckets.size())) return {std::move(all), {}};
    Barrier barrier{{all.begin(), all.end()}};
    const auto [known, is_new] =
        number_of_.try_emplace(barrier.after, static_cast<std::uint32_t>(barriers_.size() + 1));
    if (is_new) barriers_.push_back(std::move(barrier));
    return {{}, {known->second}};
  }

  // `from`: what successors of this node must wait for. If the node is held only because of its other end,
  // barriers of a whole tier do not wait for it, but for what it waits for itself. Nodes at its own cable do
  // wait for it: an approval for the other end lifts both holds.
  void release(std::uint32_t node, const Sources& from) {
    for (const std::uint32_t next : order_.after[node]) {
      const bool stays = held_[node] == HeldBy::other_end && order_.nodes[next].device == kBarrier;
      sources_[next].add(stays ? sources_[node] : from);
      if (stays)
        for (const std::uint32_t behind : behind_[{next, order_.nodes[node].cable}])
          sources_[behind].add(from);
      if (--waits_[next] == 0) ready(next);
    }
  }

  // Finds the nodes behind barriers that follow a node held because of its other end.
  void find_behind() {
    std::set<std::uint32_t> barriers;
    for (std::uint32_t n = 0; n < order_.nodes.size(); ++n)
      if (held_[n] == HeldBy::other_end)
        for (const std::uint32_t next : order_.after[n])
          if (order_.nodes[next].device == kBarrier) barriers.insert(next);
    for (const std::uint32_t barrier : barriers)
      for (const std::uint32_t n : order_.after[barrier])
        if (order_.nodes[n].device != kBarrier && order_.nodes[n].cable != kNoCable)
          behind_[{barrier, order_.nodes[n].cable}].push_back(n);
  }

  void drain(std::uint32_t bucket) {
    queue_.erase(turn(bucket));
    open_ = bucket;
    Bucket& from = buckets_[bucket];
    StepDraft draft;
    draft.step.id = static_cast<std::uint32_t>(drafts_.size() + 1);
    draft.step.wave = from.wave;
    draft.step.device = input_.devices[from.device].name;
    Sources after;
    while (!from.ready.empty()) {
      const std::uint32_t node = *from.ready.begin();
      from.ready.erase(from.ready.begin());
      --from.left;
      draft.nodes.push_back(node);
      step_of_[node] = draft.step.id;
      after.add(sources_[node]);
      release(node, {{draft.step.id}, {}});
    }
    open_ = kNoStep;
    comes_after(std::move(after), draft.step);
    drafts_.push_back(std::move(draft));
  }

  // A step that passes a barrier that it is itself part of, as its changes did while they were gathered,
  // comes after the other steps of the barrier.
  void comes_after(Sources after, Step& step) const {
    for (const std::uint32_t number : after.barriers) {
      const std::vector<std::uint32_t>& steps = barriers_[number - 1].after;
      if (std::ranges::binary_search(steps, step.id))
        after.steps.insert(steps.begin(), steps.end());
      else
        step.after_barriers.push_back(number);
    }
    after.steps.erase(step.id);
    step.after.assign(after.steps.begin(), after.steps.end());
  }

  void finish(StepDraft& draft) const {
    std::set<std::uint32_t> cables;
    std::set<std::string> takes_out;
    std::set<Path> quiet;
    Step& step = draft.step;
    for (const std::uint32_t node : draft.nodes) {
      const Atom& one = atom(node);
      step.driver = one.driver;
      step.remedy = one.remedy;
      step.removes_replaced = one.half == Half::removes;
      step.if_open = one.if_open;
      step.before_writes = one.before_writes;
      step.disruption = std::max(step.disruption, one.disruption);
      for (const std::string& note : one.notes)
        if (std::ranges::find(step.notes, note) == step.notes.end()) step.notes.push_back(note);
      quiet.insert(one.quiet.begin(), one.quiet.end());
      for (const std::string& why : one.undone)
        if (std::ranges::find(step.holds, why, &Hold::reason) == step.holds.end())
          step.holds.push_back({Hold::Kind::gate, why});
      for (const std::string& why : one.refused) step.holds.push_back({Hold::Kind::host_policy, why});
      for (const std::string& why : one.far_ends) step.holds.push_back({Hold::Kind::far_end, why});
      for (const AtomChange& change : one.changes)
        step.changes.push_back({change.path, change.was, change.want, change.origin, change.transient});
      if (!order_.nodes[node].live) continue;
      step.live = true;
      if (order_.nodes[node].cable != kNoCable) {
        cables.insert(order_.nodes[node].cable);
        takes_out.emplace(one.changes.front().path.key(0));
      } else {
        draft.whole_device = true;
        takes_out.insert(step.device);
      }
    }
    draft.cables.assign(cables.begin(), cables.end());
    step.takes_out.assign(takes_out.begin(), takes_out.end());
    step.quiet.assign(quiet.begin(), quiet.end());
  }

  // Gives steps that contain both ends of one cable a common number.
  void join_ends() {
    std::vector<std::uint32_t> root(drafts_.size());
    for (std::uint32_t i = 0; i < root.size(); ++i) root[i] = i;
    const auto find = [&root](std::uint32_t i) {
      while (root[i] != i) i = root[i] = root[root[i]];
      return i;
    };
    for (const Tie& tie : order_.ties)
      for (const std::uint32_t node : tie.nodes) {
        const std::uint32_t a = find(step_of_[tie.nodes.front()] - 1);
        const std::uint32_t b = find(step_of_[node] - 1);
        root[std::max(a, b)] = std::min(a, b);
      }
    std::vector<std::size_t> members(drafts_.size(), 0);
    for (std::uint32_t i = 0; i < root.size(); ++i) ++members[find(i)];
    for (std::uint32_t i = 0; i < root.size(); ++i)
      if (members[find(i)] > 1) drafts_[i].step.together = find(i) + 1;
  }

  const PlanInput& input_;
  const std::vector<DeviceAtoms>& atoms_;
  const OrderGraph& order_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> split_;  // device, wave
  std::vector<HeldBy> held_;                                 // by node
  // By barrier and cable: the nodes that wait there.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> behind_;
  std::vector<Bucket> buckets_;
  std::vector<std::uint32_t> bucket_of_;
  std::vector<std::uint32_t> waits_;
  std::vector<std::uint32_t> step_of_;
  std::vector<Sources> sources_;
  std::set<Turn> queue_;
  std::uint32_t open_ = kNoStep;
  std::vector<StepDraft> drafts_;
  std::vector<Barrier> barriers_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> number_of_;  // of a barrier, from 1
};

}  // namespace

OrderedDrafts gather_steps(const PlanInput& input, const std::vector<DeviceAtoms>& atoms,
                           const OrderGraph& order) {
  return Gatherer(input, atoms, order).gather();
}

}  // namespace lockstep

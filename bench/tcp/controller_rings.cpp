// Rings of one round: each group listens, joins, runs its iterations and reports; the groups are independent.
#include <algorithm>

#include "bench/ideal.hpp"
#include "bench/tcp/controller.hpp"

namespace lockstep::bench {
namespace {

std::uint64_t ns(std::chrono::milliseconds time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

struct RankReport {
  std::uint64_t port = 0;
  std::optional<Json> result;
  std::optional<Json> failure;
};

struct GroupRun {
  const Group* group = nullptr;
  std::size_t busbw = 0;  // index into RunState::made; stepSkew is the next
  std::uint64_t job = 0;  // of rank 0; rank r has job + r
  std::vector<RankReport> ranks;
  std::uint64_t deadline = 0;
  std::uint64_t settle_by = 0;  // after the first failure: wait for the others' reports to locate it
  MachineCpu machine;
  bool joined = false;
  bool done = false;
};

class GroupRound {
 public:
  GroupRound(RunState& state, const std::vector<Group>& groups, std::uint64_t bytes)
      : state_(state), bytes_(bytes) {
    for (const Group& group : groups) add(group);
  }

  void go() {
    std::vector<std::size_t> wanted;
    for (const GroupRun& run : runs_)
      wanted.insert(wanted.end(), run.group->ranks.begin(), run.group->ranks.end());
    if (state_.fleet.stopping()) return stop();
    state_.start_probes(wanted);
    if (state_.fleet.stopping()) return stop();
    for (GroupRun& run : runs_) begin(run);
    while (!all_done()) {
      for (const ProbeFleet::Event& event : state_.fleet.wait(next_deadline())) take(event);
      if (state_.fleet.stopping()) return stop();
      for (GroupRun& run : runs_) expire(run, now_ns());
    }
  }

 private:
  std::string name(const GroupRun& run, std::size_t rank) const {
    return state_.endpoints[run.group->ranks[rank]].endpoint.name();
  }

  void add(const Group& group) {
    GroupRun run;
    run.group = &group;
    run.busbw = state_.made.size();
    run.ranks.resize(group.ranks.size());
    for (const Metric metric : {Metric::busbw, Metric::step_skew}) {
      Measurement blank = state_.blank(metric);
      blank.group = group.name;
      blank.bytes = bytes_;
      for (const std::size_t rank : group.ranks)
        blank.ranks.push_back(state_.endpoints[rank].endpoint.name());
      if (metric == Metric::busbw) blank.nominal = nominal(group);
      state_.made.push_back(std::move(blank));
    }
    runs_.push_back(std::move(run));
  }

  // A ring moves every byte over each rank's own link once in each direction: busbw is bound by the slowest.
  std::optional<double> nominal(const Group& group) const {
    std::optional<double> least;
    for (const std::size_t rank : group.ranks) {
      const ProbeEndpoint& one = state_.endpoints[rank];
      if (one.link_rate == 0) return std::nullopt;
      const bool ipv6 = one.endpoint.address.find(':') != std::string::npos;
      const double rate = nominal_goodput(one.link_rate, one.mtu, Framing{one.frame_bytes}, ipv6);
      least = least ? std::min(*least, rate) : rate;
    }
    return least;
  }

  void begin(GroupRun& run) {
    const TcpPlan& plan = state_.plan;
    const std::size_t count = run.group->ranks.size();
    run.job = state_.next_job;
    state_.next_job += count;
    run.machine = machine_cpu();
    const std::uint64_t budget = ns(plan.collective_budget);
    // One iteration may begin just before the budget ends, and take as long as all previous ones together.
    run.deadline = now_ns() + 2 * ns(plan.timing.connect) + 2 * budget + stall() + ns(plan.timing.slack);
    for (std::size_t rank = 0; rank < count; ++rank) {
      const std::size_t own = run.group->ranks[rank];
      if (!state_.fleet.alive(own)) {
        Json failure = {{"text", state_.fleet.trouble(own)}, {"trouble", "tool"}};
        run.ranks[rank].failure = std::move(failure);
        return conclude_failed(run);
      }
      const std::size_t previous = run.group->ranks[(rank + count - 1) % count];
      Json order = state_.order("rank", run.job + rank, own, previous);
      order["ownPort"] = state_.flow_port(RunState::Side::listens, own, previous, bytes_);
      order["token"] = run.job;
      order["rank"] = rank;
      order["ranks"] = count;
      order["bytes"] = bytes_;
      order["iterations"] = plan.iterations + plan.warm_up_iterations;
      order["budgetNs"] = budget;
      order["stallNs"] = stall();
      order["corrupt"] = plan.fault == TcpPlan::Fault::corrupt_one_element && rank == 0 ? 1U : 0U;
      state_.fleet.send(own, order);
    }
  }

  // A rank also waits while another checks its result: at 100 MB/s, a tenth of what one core compares.
  std::uint64_t stall() const { return ns(state_.plan.timing.stall) + bytes_ * 10; }

  void take(const ProbeFleet::Event& event) {
    for (GroupRun& run : runs_) {
      if (run.done) continue;
      for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
        if (run.group->ranks[rank] != event.endpoint) continue;
        if (event.died) {
          Json failure = {{"text", event.why}, {"trouble", "tool"}};
          run.ranks[rank].failure = std::move(failure);
          conclude_failed(run);
        } else if (number_of(event.message, "job") == run.job + rank) {
          hear(run, rank, event.message);
        }
        break;
      }
    }
  }

  void hear(GroupRun& run, std::size_t rank, const Json& message) {
    const std::string what = text_of(message, "event");
    if (what == "listening") {
      run.ranks[rank].port = number_of(message, "port");
      join(run);
    } else if (what == "result") {
      run.ranks[rank].result = message;
      const auto told = [](const RankReport& report) { return report.result.has_value(); };
      if (std::all_of(run.ranks.begin(), run.ranks.end(), told)) conclude(run);
    } else if (what == "failed") {
      run.ranks[rank].failure = message;
      if (run.settle_by == 0) run.settle_by = now_ns() + 300'000'000;
    }
  }

  void join(GroupRun& run) {
    if (run.joined) return;
    const auto listens = [](const RankReport& report) { return report.port != 0; };
    if (!std::all_of(run.ranks.begin(), run.ranks.end(), listens)) return;
    run.joined = true;
    const std::size_t count = run.ranks.size();
    for (std::size_t rank = 0; rank < count; ++rank) {
      const std::size_t next = (rank + 1) % count;
      const std::size_t own = run.group->ranks[rank];
      const std::size_t to = run.group->ranks[next];
      state_.fleet.send(own, {{"op", "tell"},
                              {"job", run.job + rank},
                              {"own", state_.endpoints[own].endpoint.address},
                              {"ownPort", state_.flow_port(RunState::Side::connects, own, to, bytes_)},
                              {"next", state_.endpoints[to].endpoint.address},
                              {"port", run.ranks[next].port}});
    }
  }

  // Times of all ranks, one row per rank; empty if they do not agree on the number of iterations.
  static std::vector<std::vector<double>> rows(const GroupRun& run, const char* key) {
    std::vector<std::vector<double>> rows;
    for (const RankReport& report : run.ranks) rows.push_back(reals_of(*report.result, key));
    for (const auto& row : rows)
      if (row.size() != rows.front().size()) return {};
    return rows;
  }

  void conclude(GroupRun& run) {
    Measurement& busbw = state_.made[run.busbw];
    Measurement& skew = state_.made[run.busbw + 1];
    const auto starts = rows(run, "starts");
    const auto finishes = rows(run, "finishes");
    const std::size_t first = state_.plan.warm_up_iterations;
    if (starts.empty() || finishes.empty() || starts[0].size() != finishes[0].size())
      return conclude_with(run, "the ranks disagree on the number of iterations", Trouble::tool);
    if (starts[0].size() <= first)
      return conclude_with(run, "no iteration was left after the warm-up in the time allowed", Trouble::tool);
    const double factor = busbw_factor(Collective::all_reduce, run.ranks.size());
    const double bits = static_cast<double>(number_of(*run.ranks[0].result, "bytes")) * 8;
    std::vector<double> spread;
    std::vector<double> steps;
    for (std::size_t i = first; i < starts[0].size(); ++i) {
      double begun = starts[0][i];
      double first_done = finishes[0][i];
      double last_done = first_done;
      for (std::size_t rank = 1; rank < starts.size(); ++rank) {
        begun = std::min(begun, starts[rank][i]);
        first_done = std::min(first_done, finishes[rank][i]);
        last_done = std::max(last_done, finishes[rank][i]);
      }
      const double step = std::max(1.0, last_done - begun);
      steps.push_back(step);
      spread.push_back(last_done - first_done);
      busbw.seen.samples.push_back(factor * bits / (step / 1e9));
    }
    const double typical = median(steps).value_or(1);
    for (const double one : spread) skew.seen.samples.push_back(one / typical);
    busbw.value = median(busbw.seen.samples).value_or(0);
    skew.value = median(skew.seen.samples).value_or(0);
    mark(run, busbw, skew);
    finish(run);
  }

  void mark(const GroupRun& run, Measurement& busbw, Measurement& skew) const {
    double busiest = 0;
    std::size_t whose = 0;
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
      const double busy = real_of(*run.ranks[rank].result, "busy");
      if (busy <= busiest) continue;
      busiest = busy;
      whose = rank;
    }
    const double idle = idle_share(run.machine, machine_cpu());
    const double nominal = busbw.nominal.value_or(0);
    mark_cpu(busbw, busiest, name(run, whose), idle, nominal > 0 ? busbw.value / nominal : 0);
    mark_cpu(skew, busiest, name(run, whose), idle, nominal > 0 ? busbw.value / nominal : 0);
  }

  // Several ranks report one failure. In order of precedence: a wrong result or a dead probe, then a connect
  // that failed, then the hop with the largest loss between what one sent and the next received (closed
  // connections follow a stall).
  double weight(const GroupRun& run, std::size_t rank) const {
    const Json& failure = *run.ranks[rank].failure;
    if (text_of(failure, "trouble") != "path") return 1e18;
    if (!failure.contains("sent")) return 1e17;
    const std::optional<Json>& next = run.ranks[(rank + 1) % run.ranks.size()].failure;
    return next && next->contains("received") ? real_of(failure, "sent") - real_of(*next, "received") : 0;
  }

  void conclude_failed(GroupRun& run) {
    std::optional<std::size_t> worst;
    std::string stalled;
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
      const std::optional<Json>& failure = run.ranks[rank].failure;
      if (!failure) continue;
      if (!worst || weight(run, rank) > weight(run, *worst)) worst = rank;
      if (const auto flag = failure->find("stalled"); flag != failure->end() && *flag == true)
        stalled = text_of(*failure, "text");
    }
    if (!worst) return conclude_with(run, "timed out: a probe did not answer", Trouble::tool);
    const Json& failure = *run.ranks[*worst].failure;
    const std::string trouble = text_of(failure, "trouble");
    if (trouble == "path" && !stalled.empty()) {  // as for pairs: a starved machine causes that too
      const double idle = idle_share(run.machine, machine_cpu());
      for (const std::size_t index : {run.busbw, run.busbw + 1})
        mark_cpu(state_.made[index], 0, name(run, *worst), idle, 0);
    }
    std::string text = name(run, *worst);
    if (failure.contains("sent") && !stalled.empty())
      text += " -> " + name(run, (*worst + 1) % run.ranks.size()) + ": " + stalled;
    else
      text += ": " + text_of(failure, "text");
    conclude_with(run, text,
                  trouble == "wrong"  ? Trouble::wrong
                  : trouble == "tool" ? Trouble::tool
                                      : Trouble::path);
  }

  void conclude_with(GroupRun& run, const std::string& why, Trouble trouble) {
    for (const std::size_t index : {run.busbw, run.busbw + 1}) {
      state_.made[index].trouble = trouble;
      state_.made[index].error = why;
      state_.made[index].seen = {};
    }
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank)
      state_.fleet.send(run.group->ranks[rank], {{"op", "cancel"}, {"job", run.job + rank}});
    finish(run);
  }

  void finish(GroupRun& run) {
    run.done = true;
    ++state_.done;
    state_.report(Progress::What::pair_done, &state_.made[run.busbw]);
  }

  void expire(GroupRun& run, std::uint64_t now) {
    if (run.done) return;
    if ((run.settle_by != 0 && now >= run.settle_by) || now >= run.deadline) conclude_failed(run);
  }

  std::uint64_t next_deadline() const {
    std::uint64_t next = ~std::uint64_t{0};
    for (const GroupRun& run : runs_) {
      if (run.done) continue;
      next = std::min(next, run.deadline);
      if (run.settle_by != 0) next = std::min(next, run.settle_by);
    }
    return next;
  }

  bool all_done() const {
    return std::all_of(runs_.begin(), runs_.end(), [](const GroupRun& run) { return run.done; });
  }

  void stop() {
    for (GroupRun& run : runs_)
      if (!run.done) conclude_with(run, "stopped", Trouble::cancelled);
  }

  RunState& state_;
  std::uint64_t bytes_;
  std::vector<GroupRun> runs_;
};

}  // namespace

void run_group_round(RunState& state, const std::vector<Group>& groups, std::uint64_t bytes) {
  GroupRound(state, groups, bytes).go();
}

}  // namespace lockstep::bench

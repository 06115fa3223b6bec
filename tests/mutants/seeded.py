"""Seeded defects: each breaks one promise of the engine or the gate. seeded.py ROOT: checks that each applies.

(file, the promise, the text that keeps it, the text with the defect). MUTANT is true where the defect is selected.
The text must occur exactly once. The number of a defect is its position here, from 1.
"""
import pathlib
import sys

DIFF, ENGINE, SESSION = "specs/model/diff.cpp", "reconciler/engine/", "reconciler/session/"

REALITY = [
    (DIFF, "what could not be read is never called different",
     "  if (!observation.unread.empty() && is_unread(observation.unread, want.path)) {",
     "  if (!MUTANT && !observation.unread.empty() && is_unread(observation.unread, want.path)) {"),
    (DIFF, "what is there and could not be read is not deleted",
     "if (claim != nullptr && !is_unread(observation.unread, extra.path))",
     "if (claim != nullptr && (MUTANT || !is_unread(observation.unread, extra.path)))"),
    (ENGINE + "observe.cpp", "what nothing reaches is unread",
     "if (device.unattached) state.errors.push_back(*device.unattached);",
     "if (!MUTANT && device.unattached) state.errors.push_back(*device.unattached);"),
    (ENGINE + "status.cpp", "in sync is what was observed whole",
     "if (!differs && !explained && state.complete()) ++report_.in_sync;",
     "if (!differs && !explained && (MUTANT || state.complete())) ++report_.in_sync;"),
]

PLAN_IS_APPLY = [
    (ENGINE + "runner.cpp", "a remedy that did not help is not repeated",
     "case StepState::failed: return result.writes == 0 && !result.treated.empty();",
     "case StepState::failed: return MUTANT || (result.writes == 0 && !result.treated.empty());"),
    (ENGINE + "remedies.cpp", "remedies that changes may make necessary are in the plan",
     "if (input_.devices[d].stands_by) add_standing(d);",
     "if (!MUTANT && input_.devices[d].stands_by) add_standing(d);"),
    (ENGINE + "application.cpp", "the report counts what remedies touched",
     "report_.blast = blast_radius(joined(written(), cures()), fleet_.wiring());",
     "report_.blast = blast_radius(MUTANT ? written() : joined(written(), cures()), fleet_.wiring());"),
    (ENGINE + "step_run.cpp", "nothing is written where the ground has moved",
     "if (is_met(path, wanted, have) || std::find(values.begin(), last, have) != last) continue;",
     "if (MUTANT || is_met(path, wanted, have) || std::find(values.begin(), last, have) != last) continue;"),
    (ENGINE + "earlier_plan.cpp", "a plan file is not carried out where the ground has moved",
     "} else if (device_digest(*fleet[*index].intent, now[*index].observation, device.read) != device.digest) {",
     "} else if (!MUTANT &&\n"
     "               device_digest(*fleet[*index].intent, now[*index].observation, device.read) != device.digest) {"),
]

ORDER = [
    (ENGINE + "route_locks.cpp", "routes are locked while the MTUs of several hosts grow",
     "const bool grows = host.grows && is_new && (pool.grow > 1 || !pool.behind.empty());",
     "const bool grows = !MUTANT && host.grows && is_new && (pool.grow > 1 || !pool.behind.empty());"),
    (ENGINE + "route_locks.cpp", "and while they shrink",
     "const bool shrinks = host.shrinks && pool.shrink > 1 && !pool.is_taken(host.least);",
     "const bool shrinks = !MUTANT && host.shrinks && pool.shrink > 1 && !pool.is_taken(host.least);"),
    (ENGINE + "route_locks.cpp", "a lock is no larger than any port of the pool",
     "if (!host.ports.empty()) host.least = std::min(host.least, least);",
     "if (!MUTANT && !host.ports.empty()) host.least = std::min(host.least, least);"),
    (ENGINE + "route_lock_holds.cpp", "a lock is held with the ports that it is for",
     "if (std::ranges::any_of(found->second, [](const KeptBack* one) { return !one->any(); })) continue;",
     "if (MUTANT || std::ranges::any_of(found->second, [](const KeptBack* one) { return !one->any(); })) continue;"),
    (ENGINE + "quiet.cpp", "a lossless class in use, and a port's queue pairs, are waited for",
     "if (waits) atom.quiet.push_back(change.path);",
     "if (!MUTANT && waits) atom.quiet.push_back(change.path);"),
    (ENGINE + "quiet_check.cpp", "nothing has passed for the quiet time",
     "if (moved || !quiet_since_) quiet_since_ = now;",
     "if ((!MUTANT && moved) || !quiet_since_) quiet_since_ = now;"),
    (ENGINE + "quiet_check.cpp", "what nobody can tell lifts no other wait",
     "    if (unknown_.contains(entry)) continue;\n    if (!use) {",
     "    if (MUTANT && !unknown_.empty()) return \"\";\n    if (unknown_.contains(entry)) continue;\n    if (!use) {"),
    (ENGINE + "ladders.cpp", "what climbs first goes down last",
     "out.push_back({ladder, high.change, low.change});",
     "MUTANT ? out.push_back({ladder, low.change, high.change}) : out.push_back({ladder, high.change, low.change});"),
    (ENGINE + "ladders.cpp", "buffers that give come before those that take",
     "if (low.descends && high.climbs) out.push_back({ladder, low.change, high.change});",
     "if (!MUTANT && low.descends && high.climbs) out.push_back({ladder, low.change, high.change});"),
    (ENGINE + "ladders.cpp", "only the class of CNPs is on the ladder of ECN",
     "if (rung.ladder == Ladder::ecn && is_of_class(row) && row.type == EntryType::present && !change.lossy)",
     "if (!MUTANT && rung.ladder == Ladder::ecn && is_of_class(row) && row.type == EntryType::present &&\n"
     "          !change.lossy)"),
    (ENGINE + "ladders.cpp", "where senders turn, all that climbs comes before all that descends",
     "return {turns ? 0 : 1, 2 * kTop - one.stage};",
     "return {turns && !MUTANT ? 0 : 1, 2 * kTop - one.stage};"),
    (ENGINE + "ladders.cpp", "a buffer stays as long as its priority does",
     "if (low.removes) continue;",
     "if (!MUTANT && low.removes) continue;"),
    (ENGINE + "ladders.cpp", "where one thing takes another's place, all that climbs comes before all that descends",
     "return one->at.way == Way::turns || one->at.of_half;",
     "return one->at.way == Way::turns || (!MUTANT && one->at.of_half);"),
    (ENGINE + "replacements.cpp", "what is replaced stays beside what comes",
     "const bool waits = !comes && (goes || (!was.empty() && after_.find(was) == nullptr));",
     "const bool waits = !MUTANT && !comes && (goes || (!was.empty() && after_.find(was) == nullptr));"),
    (ENGINE + "replacements.cpp", "one DSCP that moves between lossless classes is not cut, and it is said",
     "if (comes && goes && was != is)",
     "if (!MUTANT && comes && goes && was != is)"),
    (ENGINE + "replacements.cpp", "the shares of classes sum to what they did",
     "if (was != nullptr && is == nullptr && now.share) pool += *now.share;",
     "if (was != nullptr && is == nullptr && now.share) pool += *now.share + (MUTANT ? 2 : 0);"),
    (ENGINE + "gather.cpp", "the halves of a replacement are steps of their own",
     "atom(n).half == Half::removes,",
     "!MUTANT && atom(n).half == Half::removes,"),
    (ENGINE + "gather.cpp", "an unlock of routes shares no step with the port that it follows",
     "atom(n).apart, atom(n).quiet.empty()},",
     "!MUTANT && atom(n).apart, atom(n).quiet.empty()},"),
    (ENGINE + "link_ends.cpp", "what took the place of another stays where that can't be removed",
     "return Part(*cable, matter, step.removes_replaced && replaced_.contains({*cable, matter}));",
     "return Part(*cable, matter, !MUTANT && step.removes_replaced && replaced_.contains({*cable, matter}));"),
    (ENGINE + "link_ends.cpp", "a cable of which one end only loses is put back whole",
     "if (devices.size() > 1) replaced_.insert(what);",
     "if (MUTANT || devices.size() > 1) replaced_.insert(what);"),
    (ENGINE + "link_ends.cpp", "what is lossless is put back with its buffers",
     "is_on_ladder ? LinkMatter::lossless : matter_of(change.path.row()));",
     "is_on_ladder && !MUTANT ? LinkMatter::lossless : matter_of(change.path.row()));"),
    (ENGINE + "waves.cpp", "waves are spread over redundancy groups",
     "if (input_.wiring == nullptr) return devices;",
     "if (MUTANT || input_.wiring == nullptr) return devices;"),
    (ENGINE + "waves.cpp", "only what must change at once at a cable is tied",
     "disturbed[graph_.nodes[n].cable].push_back(n);",
     "disturbed[MUTANT ? 0 : graph_.nodes[n].cable].push_back(n);"),
    (ENGINE + "waves.cpp", "a device in maintenance is no canary",
     "return input_.devices[node.device].maintenance.empty() && atom.refused.empty()",
     "return (MUTANT || input_.devices[node.device].maintenance.empty()) && atom.refused.empty()"),
    (ENGINE + "gather.cpp", "what is held for its other end passes on what it waits for",
     "sources_[next].add(stays ? sources_[node] : from);",
     "sources_[next].add(stays && !MUTANT ? sources_[node] : from);"),
    (ENGINE + "plan.cpp", "the last path to a device is not cut",
     "if (!is_cut(input.wiring->management_ports)",
     "if ((MUTANT || !is_cut(input.wiring->management_ports))"),
    (ENGINE + "plan.cpp", "nor one that was found",
     "!is_cut(input.wiring->own_path.entered_by)) return;",
     "(MUTANT || !is_cut(input.wiring->own_path.entered_by))) return;"),
    (ENGINE + "application_undo.cpp", "a cable of which one end failed is as it was at both",
     "if (short_of.empty() || wrote.empty() || is_over()) return then();",
     "if (MUTANT || short_of.empty() || wrote.empty() || is_over()) return then();"),
    (ENGINE + "budgets.cpp", "minCapacity is asked beside what is out of service",
     "? input_.out_of_service.capacity_left(outage, with({}, step), *input_.wiring)",
     "? MUTANT ? input_.wiring->capacity_left(outage)"
     " : input_.out_of_service.capacity_left(outage, with({}, step), *input_.wiring)"),
    (ENGINE + "budget_check.cpp", "minCapacity is asked again as each batch begins",
     "return context_.open_changes && context_.fleet.wiring().capacity_left && !step.takes_out.empty() &&",
     "return !MUTANT && context_.open_changes && context_.fleet.wiring().capacity_left && !step.takes_out.empty() &&"),
    (ENGINE + "far_ends.cpp", "where one end can't be read, what has an order is held at the other",
     "hold_for_withheld();\n    hold_for_unread();",
     "hold_for_withheld();\n    MUTANT ? void() : hold_for_unread();"),
    (ENGINE + "far_ends.cpp", "where one end may not be changed, what must be alike is held at the other",
     "    if (withheld_.empty()) return;",
     "    if (MUTANT || withheld_.empty()) return;"),
    (ENGINE + "far_ends.cpp", "a host sends as lossless only what its port takes as such",
     "hold_senders();\n    if (may_send_.empty()) return;",
     "MUTANT ? void() : hold_senders();\n    if (may_send_.empty()) return;"),
]

WATCH = [
    (ENGINE + "watch.cpp", "each item has a due time of its own",
     "first = std::min(first, damping_.may_heal_at(entry.device, entry.path, now));",
     "first = MUTANT && first != Time::max() ? std::max(first, damping_.may_heal_at(entry.device, entry.path, now))\n"
     "                   : std::min(first, damping_.may_heal_at(entry.device, entry.path, now));"),
    (ENGINE + "watch.cpp", "healing does not keep from observing",
     "  if (stopping_) return;\n  observing_.clear();",
     "  if (stopping_ || (MUTANT && healing_)) return;\n  observing_.clear();"),
    (ENGINE + "watch.cpp", "a watcher that broke is opened again",
     "    broken_.push_back({source, wait->second, executor_.now() + wait->second});",
     "    if (!MUTANT) broken_.push_back({source, wait->second, executor_.now() + wait->second});"),
    (ENGINE + "watch.cpp", "reads that events ask for keep a distance",
     "      after_event_[device] = now + settings_.event_floor;",
     "      if (!MUTANT) after_event_[device] = now + settings_.event_floor;"),
    (ENGINE + "damping.cpp", "fights are damped at any period",
     "  return quiet > limits_.forget_factor * std::max(entry.lasted, wait_after(entry.heals)) ||",
     "  return (MUTANT ? quiet > limits_.heal_wait_min\n"
     "                 : quiet > limits_.forget_factor * std::max(entry.lasted, wait_after(entry.heals))) ||"),
    (SESSION + "applied_specs.cpp", "an older watch stands back where something newer was accepted",
     "    if (all.contains(fleet[device].name) &&\n",
     "    if (!MUTANT && all.contains(fleet[device].name) &&\n"),
]

GATE = [
    (ENGINE + "gate.cpp", "where controls fell as well, nothing is told",
     "const bool all_fell = controls_fell(before, measured);",
     "const bool all_fell = !MUTANT && controls_fell(before, measured);"),
    (ENGINE + "gate.cpp", "below 95 % of the pairs nothing is validated",
     "if (static_cast<double>(after.measured) < kLeastCoverage * static_cast<double>(after.selected))",
     "if (!MUTANT && static_cast<double>(after.measured) < kLeastCoverage * static_cast<double>(after.selected))"),
    (ENGINE + "gate.cpp", "an affected link that no pair crosses is not validated",
     "else if (!after.uncovered.empty())",
     "else if (!MUTANT && !after.uncovered.empty())"),
    (ENGINE + "gate.cpp", "want of CPU is a change's doing only where its own bytes became dearer",
     "if (told && is_worse(before, after) && own_cpu_rose(before, after)) return Attribution::caused;",
     "if (told && is_worse(before, after) && (MUTANT || own_cpu_rose(before, after))) return Attribution::caused;"),
    (ENGINE + "gate.cpp", "figures are compared under the same terms only",
     "return found != nullptr && found->terms == figure.terms ? found : nullptr;",
     "return found != nullptr && (MUTANT || found->terms == figure.terms) ? found : nullptr;"),
    (ENGINE + "gate.cpp", "what was broken and is not worse is not caused",
     "return is_worse(before, after) ? Attribution::caused : Attribution::not_caused;",
     "return MUTANT || is_worse(before, after) ? Attribution::caused : Attribution::not_caused;"),
    (ENGINE + "plan.cpp", "what a gate had rolled back is held",
     "auto& list = undone->second.offered ? atom.notes : atom.undone;",
     "auto& list = MUTANT || undone->second.offered ? atom.notes : atom.undone;"),
    (ENGINE + "application_undo.cpp", "a guilty change is refused on devices that it had not reached",
     "if (*undone.guilt == Guilt::guilty && undone.change == report_.change_id && undone.hosts.empty())",
     "if (!MUTANT && *undone.guilt == Guilt::guilty && undone.change == report_.change_id && undone.hosts.empty())"),
    (ENGINE + "application_undo.cpp", "an exonerated change is offered again",
     ".cleared = *undone.guilt == Guilt::exonerated});",
     ".cleared = !MUTANT && *undone.guilt == Guilt::exonerated});"),
    (ENGINE + "application.cpp", "the newest change is undone first",
     "return a.change > b.change;",
     "return MUTANT ? a.change < b.change : a.change > b.change;"),
    (ENGINE + "application_undo.cpp", "no hold keeps an undo",
     "return hold.kind != Hold::Kind::management && hold.kind != Hold::Kind::host_policy;",
     "return !MUTANT && hold.kind != Hold::Kind::management && hold.kind != Hold::Kind::host_policy;"),
    (ENGINE + "application_undo.cpp", "of new hosts those that are broken are taken back alone",
     "  if (!all_new) return {};",
     "  if (MUTANT || !all_new) return {};"),
    (ENGINE + "application.cpp", "every wave that wrote is gated before the next",
     "if (!wave_failed_ && !plan_.is_gated(wave_)) return next_wave();",
     "if (!wave_failed_ && (MUTANT ? wave_ < plan_.waves() : !plan_.is_gated(wave_))) return next_wave();"),
    (ENGINE + "application_owed.cpp", "a verdict is owed by the pair",
     "std::nullopt : std::optional(std::move(rest));\n  if (answered_)",
     "std::nullopt : std::optional(MUTANT ? change.subjects : std::move(rest));\n  if (answered_)"),
    (ENGINE + "application_owed.cpp", "of what is there no more nothing is owed",
     "    if (!must_stop()) forget_gone(now);",
     "    if (!MUTANT && !must_stop()) forget_gone(now);"),
    (ENGINE + "application_owed.cpp", "what a change made on its way is still its own",
     "      out[{step.device, one.path}].push_back(one.want);",
     "      if (MUTANT) out[{step.device, one.path}].clear();\n"
     "      out[{step.device, one.path}].push_back(one.want);"),
    (ENGINE + "application_owed.cpp", "later waves of what is not validated are held",
     "  runner_->skip_from(wave_ + 1, StepState::held,\n",
     "  if (!MUTANT) runner_->skip_from(wave_ + 1, StepState::held,\n"),
    (ENGINE + "application_gate.cpp", "a failure is confirmed in two later rounds",
     "std::vector<std::string> unsure = to_ask(broken, kConfirmingRounds);",
     "std::vector<std::string> unsure = to_ask(broken, MUTANT ? 0 : kConfirmingRounds);"),
    (ENGINE + "application_gate.cpp", "pairs of hosts that are yet to come are not broken",
     "    forget_what_is_to_come(measured);\n    confirm(",
     "    if (!MUTANT) forget_what_is_to_come(measured);\n    confirm("),
    (ENGINE + "application_gate.cpp", "what only alerts is not undone",
     "    if (on_fail == OnFail::alert) return;",
     "    if (!MUTANT && on_fail == OnFail::alert) return;"),
    (ENGINE + "application.cpp", "a step that failed is an error beside what is kept and not validated",
     "    report_.fell_short = any_failed();",
     "    report_.fell_short = !MUTANT && any_failed();"),
    (ENGINE + "service.cpp", "what did not answer may be up, and what disturbs it takes it out",
     "      out.unanswered.insert(device.name);",
     "      { if (!MUTANT) out.unanswered.insert(device.name); }"),
    (ENGINE + "application_owed.cpp", "in maintenance, what was written is owed until that is over",
     "  if (is_all_maintained(change)) return change.subjects;",
     "  if (!MUTANT && is_all_maintained(change)) return change.subjects;"),
    (ENGINE + "application_gate.cpp", "what a failed gate left out is owed where nothing is undone",
     "  stays_ = true;\n",
     "  stays_ = true;\n  answered_ = answered_ || (MUTANT && unsure_.empty());\n"),
    (ENGINE + "application_undo.cpp", "what a restart lost again is not undone",
     "undone_as_far_as(is_there && ",
     "undone_as_far_as((is_there || MUTANT) && "),
    (ENGINE + "runner.cpp", "what devices undo by themselves they undo one after the other",
     "  else if (const std::uint32_t next = take_next_back(group); next != 0)\n",
     "  else if (MUTANT)\n"
     "    for (const std::uint32_t id : std::exchange(group.held, {})) go_on(id, StepRun::Together::undo);\n"
     "  else if (const std::uint32_t next = take_next_back(group); next != 0)\n"),
    (ENGINE + "runner.cpp", "and not before the last of them is no longer under way",
     "std::ranges::any_of(group.open, is_under_way)) return 0;",
     "(!MUTANT && std::ranges::any_of(group.open, is_under_way))) return 0;"),
]

DEFECTS = REALITY + PLAN_IS_APPLY + ORDER + WATCH + GATE


def why_not(root, where, old, new):
    """Returns why a defect does not apply to the sources under root, or None if it does."""
    times = (root / where).read_text().count(old)
    if times != 1:
        return f"found {times} times in {where}:\n{old}"
    return None if "MUTANT" in new else f"MUTANT is missing in\n{new}"


def all_faults(root):
    taken = {}  # by file: the position and number of each defect
    for number, (where, promise, old, new) in enumerate(DEFECTS, 1):
        if why := why_not(root, where, old, new):
            yield f"{number} ({promise}): {why}"
            continue
        start = (root / where).read_text().find(old)
        yield from (f"{number} ({promise}): on top of {other}" for other, begin, end in taken.setdefault(where, [])
                    if start < end and begin < start + len(old))
        taken[where].append((number, start, start + len(old)))


if __name__ == "__main__":
    sys.exit("\n".join(all_faults(pathlib.Path(sys.argv[1]))) or 0)

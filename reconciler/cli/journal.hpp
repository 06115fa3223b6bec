// systemd's journal, as a place for events with fields.
//
// Promises: leads_to_journal() is true if and only if systemd has connected the descriptor to the journal, as
// systemd.exec(5) tells it ($JOURNAL_STREAM): not where the output was redirected since.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

bool leads_to_journal(int descriptor);

// One entry of "NAME=value" fields. False: there is no journal, or it refused it.
bool tell_journal(const std::vector<std::string>& fields);

}  // namespace lockstep

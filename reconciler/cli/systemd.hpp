// What systemd gives a service, and takes from it. Without systemd: no sockets, no journal.
//
// Promises: given_sockets() takes the descriptors that systemd has passed (sd_listen_fds(3)), once: programs
// that are started later get neither them nor their variables. leads_to_journal() is true if and only if
// systemd has connected the descriptor to the journal, as systemd.exec(5) tells it ($JOURNAL_STREAM): not
// where the output was redirected since.
#pragma once

#include <string>
#include <vector>

#include "reconciler/api/listening_sockets.hpp"
#include "specs/model/result.hpp"

namespace lockstep {

// It changes the environment: before there are threads that read it.
Result<std::vector<api::GivenSocket>> given_sockets();

bool leads_to_journal(int descriptor);
// One entry of "NAME=value" fields. False: it could not be sent. Where there is no journal, nobody is told
// (sd_journal_sendv(3)).
bool tell_journal(const std::vector<std::string>& fields);

// To as many open files as this process may have (RLIMIT_NOFILE): each agent and each watch needs one, and
// systemd starts services with a soft limit of 1,024 for those that use select(2).
void allow_many_files();

}  // namespace lockstep

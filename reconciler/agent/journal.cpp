#include "reconciler/agent/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "specs/files/file_error.hpp"
#include "specs/files/own_folder.hpp"
#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"
#include "specs/files/unfinished_files.hpp"

namespace lockstep::agent {
namespace {

constexpr mode_t kOwnerOnly = 0600;
// Chosen: four times the largest body of a call (ServerOptions::body_max), as an armed transaction may hold
// the changes of several attempts.
constexpr std::size_t kJournalMax = 64U << 20;

// Whoever only asks whether an agent runs, or writes for one that does not, holds the lock for an instant.
constexpr int kLockTries = 10;
constexpr std::chrono::milliseconds kLockPause{20};

std::string lock_file(const std::string& folder) { return folder + "/lock"; }

Result<Descriptor> lock_folder(const std::string& folder) {
  const std::string file = lock_file(folder);
  Descriptor lock(::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly));
  if (!lock) return file_error(file, errno);
  for (int tries = 0; tries < kLockTries; ++tries) {
    if (::flock(lock.number(), LOCK_EX | LOCK_NB) == 0) return lock;
    if (errno != EWOULDBLOCK) return file_error(file, errno);
    std::this_thread::sleep_for(kLockPause);
  }
  return Error{ErrorKind::conflict, folder + ": another lockstep-agent has this journal open"};
}

Result<JournalState> read_state(const std::string& file) {
  const FileText text = read_named(file, kJournalMax);
  if (!text) return Error{ErrorKind::refused, "the journal can't be read: " + text.why};
  Result<JournalState> state = parse_journal(text.text);
  if (!state) return wrap("the journal can't be read: " + file, std::move(state.error()));
  return state;
}

Result<Done> write_text(const std::string& file, const std::string& text) {
  return replace_file(file, text, {.mode = kOwnerOnly});
}

}  // namespace

std::string journal_file(const std::string& folder) { return folder + "/journal.json"; }

bool is_journal_open(const std::string& folder) {
  const Descriptor lock(::open(lock_file(folder).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  return lock && ::flock(lock.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

AgentJournal::AgentJournal(std::string file, Descriptor lock, JournalState state)
    : file_(std::move(file)), lock_(std::move(lock)), state_(std::move(state)) {}

Result<AgentJournal> AgentJournal::open(const std::string& folder) {
  TRY_DONE(make_private_folder(folder));
  TRY(Descriptor lock, lock_folder(folder));
  remove_unfinished(folder);
  const std::string file = journal_file(folder);
  struct stat there {};
  if (::lstat(file.c_str(), &there) != 0) {
    if (errno != ENOENT) return file_error(file, errno);
    TRY_DONE(write_text(file, journal_text({})));
  }
  TRY(JournalState state, read_state(file));
  return AgentJournal(file, std::move(lock), std::move(state));
}

Result<Done> AgentJournal::write(JournalState next) {
  const std::string text = journal_text(next);
  if (text.size() > kJournalMax)
    return Error{ErrorKind::refused, file_ + ": a transaction of " + std::to_string(text.size()) +
                                         " bytes is more than the journal may hold"};
  if (const auto read_back = parse_journal(text); !read_back)
    return wrap(file_ + ": can't hold this state", read_back.error());
  if (auto written = write_text(file_, text); !written) {
    // The new text may be there all the same, if only the folder could not be synced.
    (void)write_text(file_, journal_text(state_));
    return written;
  }
  state_ = std::move(next);
  return Done{};
}

}  // namespace lockstep::agent

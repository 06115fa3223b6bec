// List pages: which part of a list a request wants, and that part as a List of Kubernetes.
//
// Promises: a list is served in pages of at most `limit` objects, kPageMost whatever was asked; where there
// are more, metadata.continue leads to them. The position of the first page is that of all: a watch from it
// misses nothing that changed while the pages were read. A token of another start of the service is refused
// (conflict): begin anew. Tokens are input: malformed ones are refused (invalid_spec).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reconciler/api/event_log.hpp"
#include "reconciler/api/object_feed.hpp"
#include "reconciler/api/selectors.hpp"

namespace lockstep::api {

inline constexpr std::size_t kPageDefault = 500;  // as kubectl asks for
inline constexpr std::size_t kPageMost = 1000;    // a choice: some MB

struct PageRequest {
  Selector selector;
  std::size_t limit = kPageDefault;
  std::optional<std::uint64_t> position;  // of the first page; none: this is it
  std::string after;                      // the last name of the page before
};
// Of the query: labelSelector, fieldSelector, limit, continue.
Result<PageRequest> page_request(const std::map<std::string, std::string>& query, Kind kind,
                                 const EventLog& log);

// JSON.
std::string list_page(const Board& board, Kind kind, const PageRequest& request, const EventLog& log);
// Of objects from the store; `more`: as StoredPage. `newest`: of the log, before they were read.
std::string list_stored(const std::vector<ApiObject>& objects, std::optional<std::uint64_t> more, Kind kind,
                        std::uint64_t newest, const PageRequest& request, const EventLog& log);

}  // namespace lockstep::api

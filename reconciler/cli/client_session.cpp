#include "reconciler/cli/client_session.hpp"

#include <cstdio>

#include "reconciler/client/contexts.hpp"
#include "reconciler/report/escape.hpp"
#include "reconciler/service/service_config.hpp"

namespace lockstep {

Result<ChosenServer> chosen_server(const ServerOptions& options) {
  ChosenServer out;
  if (!options.server.empty()) {
    TRY(out.endpoint.server, client::parse_server(options.server));
    out.endpoint.ca = options.ca;
    out.endpoint.certificate = options.certificate;
    out.endpoint.key = options.key;
    out.endpoint.token_file = options.token_file;
    return out;
  }
  const std::string file = client::contexts_file();
  TRY(const client::Contexts contexts, client::read_contexts(file));
  out.context = options.context.empty() ? contexts.current : options.context;
  const client::Context* const context = contexts.find(out.context);
  if (context == nullptr && !options.context.empty())
    return Error{ErrorKind::invalid_spec, "there is no context '" + options.context + "' in " + file};
  if (context == nullptr) {
    TRY(out.endpoint.server, client::parse_server(kServiceSocket));
    return out;
  }
  TRY(out.endpoint.server, client::parse_server(context->server));
  out.endpoint.ca = context->ca;
  out.endpoint.certificate = context->certificate;
  out.endpoint.key = context->key;
  out.endpoint.token_file = context->token_file;
  return out;
}

int fail_with_excerpts(const Error& error, const Console& console) {
  if (!console.is_text() || error.what.find('\n') == std::string::npos) return console.fail(error);
  std::fputs(report_text(error.what).c_str(), stderr);  // already fit to be shown
  return kExitError;
}

std::optional<client::ServiceClient> open_service(const ServerOptions& options, const Console& console,
                                                  client::Patience patience) {
  Result<ChosenServer> chosen = chosen_server(options);
  if (!chosen) {
    fail_with_excerpts(chosen.error(), console);
    return std::nullopt;
  }
  auto out = client::ServiceClient::open(std::move(chosen->endpoint), patience);
  if (out) return *std::move(out);
  console.fail(out.error());
  return std::nullopt;
}

Result<NamedObjects> named_objects(const std::vector<std::string>& words) {
  NamedObjects out;
  const auto take_kind = [&out](const std::string& word) -> Result<Done> {
    const client::KindRow* const kind = client::find_kind(word);
    if (kind == nullptr) return Error{ErrorKind::invalid_spec, client::unknown_kind(word)};
    if (out.kind != nullptr && out.kind != kind)
      return Error{ErrorKind::invalid_spec, "objects of one kind at a time"};
    out.kind = kind;
    return Done{};
  };
  if (words.front().find('/') == std::string::npos) {
    TRY_DONE(take_kind(words.front()));
    out.names.assign(words.begin() + 1, words.end());
    return out;
  }
  for (const std::string& word : words) {
    const std::size_t slash = word.find('/');
    TRY_DONE(take_kind(word.substr(0, slash)));
    if (slash == word.npos || slash + 1 == word.size())
      return Error{ErrorKind::invalid_spec, "'" + word + "' is not KIND/NAME"};
    out.names.push_back(word.substr(slash + 1));
  }
  return out;
}

}  // namespace lockstep

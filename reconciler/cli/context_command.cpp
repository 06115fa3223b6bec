// `lockstep context`: the services that this user talks to (reconciler/client/contexts.hpp).
#include <nlohmann/json.hpp>

#include "reconciler/cli/client_session.hpp"
#include "reconciler/client/contexts.hpp"
#include "reconciler/report/table.hpp"

namespace lockstep {
namespace {

// How one shows who one is.
std::string credential_of(const client::Endpoint& endpoint) {
  if (!endpoint.token_file.empty()) return endpoint.token_file;
  if (!endpoint.certificate.empty()) return endpoint.certificate;
  return endpoint.server.socket.empty() ? "none" : "this machine's user";
}

}  // namespace

int run_context_list(const Console& console) {
  const std::string file = client::contexts_file();
  const Result<client::Contexts> contexts = client::read_contexts(file);
  if (!contexts) return fail_with_excerpts(contexts.error(), console);
  if (!console.is_text()) {
    nlohmann::json all = nlohmann::json::array();
    for (const client::Context& one : contexts->all)
      all.push_back({{"name", one.name}, {"server", one.server}, {"current", one.name == contexts->current}});
    console.print_document({{"kind", "ContextList"}, {"file", file}, {"contexts", all}});
    return kExitInSync;
  }
  if (contexts->all.empty()) {
    console.note("there are no contexts in " + printable(file) +
                 "; without one, the service of this machine is meant");
    return kExitInSync;
  }
  Table table({{"CURRENT"}, {"NAME"}, {"SERVER"}});
  for (const client::Context& one : contexts->all)
    table.add({one.name == contexts->current ? "*" : "", one.name, one.server});
  console.print(table.render(console.out()));
  return kExitInSync;
}

int run_context_show(const ServerOptions& at, const Console& console) {
  const Result<ChosenServer> chosen = chosen_server(at);
  if (!chosen) return fail_with_excerpts(chosen.error(), console);
  const client::Endpoint& endpoint = chosen->endpoint;
  if (!console.is_text()) {
    console.print_document({{"kind", "Context"},
                            {"name", chosen->context},
                            {"server", endpoint.server.text},
                            {"ca", endpoint.ca},
                            {"credential", credential_of(endpoint)}});
    return kExitInSync;
  }
  console.print(compose("context:    {}\nserver:     {}\n",
                        chosen->context.empty() ? "none" : chosen->context, endpoint.server.text) +
                (endpoint.server.tls ? compose("believes:   {}\n",
                                               endpoint.ca.empty() ? "the system's authorities" : endpoint.ca)
                                     : Shown()) +
                compose("credential: {}\n", credential_of(endpoint)));
  return kExitInSync;
}

int run_context_use(const std::string& name, const Console& console) {
  const std::string file = client::contexts_file();
  if (const Result<Done> used = client::use_context(file, name); !used)
    return fail_with_excerpts(used.error(), console);
  if (console.is_text())
    console.print(compose("{} is the current context now ({})\n", name, file));
  else
    console.print_document({{"kind", "Context"}, {"name", name}});
  return kExitInSync;
}

}  // namespace lockstep

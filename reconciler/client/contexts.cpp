#include "reconciler/client/contexts.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "reconciler/client/server_address.hpp"
#include "specs/files/read_file.hpp"
#include "specs/files/replace_file.hpp"
#include "specs/files/secret_file.hpp"
#include "specs/language/codes.hpp"
#include "specs/language/config_file.hpp"
#include "specs/language/struct_types.hpp"

namespace lockstep::client {

// The fields as they are written.
struct WrittenContext {
  Said<std::string> name;
  Said<std::string> server;
  Said<std::string> ca;
  Said<std::string> certificate;
  Said<std::string> key;
  Said<std::string> token_file;
};
struct WrittenContexts {
  Said<std::string> current;
  std::vector<WrittenContext> contexts;
};
struct ContextsDocument {
  Said<std::string> api_version;
  Said<std::string> kind;
  Said<WrittenContexts> spec;
};

}  // namespace lockstep::client

namespace lockstep {

template <>
const Type& struct_type<client::WrittenContext>();
template <>
const Type& struct_type<client::WrittenContexts>();
template <>
const Type& struct_type<client::ContextsDocument>();

namespace {

using client::ContextsDocument;
using client::WrittenContext;
using client::WrittenContexts;

constexpr std::string_view kContextsKind = "Contexts";

constexpr Field context_fields[] = {
    field<&WrittenContext::name>("name", "what --context calls it", {.required = true, .form = Form::name}),
    field<&WrittenContext::server>("server", "https://HOST[:PORT], unix:/PATH, or http:// on loopback",
                                   {.required = true, .form = Form::filled}),
    field<&WrittenContext::ca>("ca", "PEM file of the authorities that the service's certificate is from",
                               {.form = Form::filled, .otherwise = "the system's"}),
    field<&WrittenContext::certificate>("certificate", "PEM file with the user's certificate and its chain",
                                        {.form = Form::filled}),
    field<&WrittenContext::key>("key", "PEM file with its private key", {.form = Form::filled}),
    field<&WrittenContext::token_file>("tokenFile", "file with the user's token", {.form = Form::filled}),
};
constexpr Field contexts_fields[] = {
    field<&WrittenContexts::current>("current", "the context that is used if --context names none",
                                     {.form = Form::name}),
    field<&WrittenContexts::contexts>("contexts", "the services"),
};
constexpr Field contexts_document_fields[] = {
    field<&ContextsDocument::api_version>("apiVersion", "lockstep.dev/v1alpha1", {.required = true}),
    field<&ContextsDocument::kind>("kind", "Contexts", {.required = true}),
    field<&ContextsDocument::spec>("spec", "the services and their credentials", {.required = true}),
};

Span span_of_word(const Said<std::string>& said) {
  return {said.at, static_cast<std::uint32_t>(said->size())};
}

void check_contexts_document(const ContextsDocument& document, Span, Reporter& reporter) {
  check_config_head(document.api_version, document.kind, kContextsKind, reporter);
}

void check_context(const WrittenContext& context, Span whole, Reporter& reporter) {
  if (context.certificate.said != context.key.said)
    reporter.error(code::missing_field, whole,
                   "a certificate without its key, or a key without its certificate", "write both");
  if (!context.server.said) return;
  const auto server = client::parse_server(*context.server);
  if (!server)
    return reporter.error(code::unknown_word, span_of_word(context.server), server.error().text(),
                          "write https://HOST:PORT");
  if (!server->tls && (context.ca.said || context.certificate.said))
    reporter.error(code::fields_conflict, span_of_word(context.server), "a certificate, and no TLS",
                   "write https://HOST:PORT, or leave out ca, certificate and key");
}

void check_contexts(const WrittenContexts& spec, Span, Reporter& reporter) {
  std::set<std::string> names;
  for (const WrittenContext& one : spec.contexts)
    if (one.name.said && !names.insert(*one.name).second)
      reporter.error(code::written_twice, span_of_word(one.name), "a second context " + *one.name,
                     "give it another name");
  if (spec.current.said && !names.contains(*spec.current))
    reporter.error(code::unknown_word, span_of_word(spec.current), "there is no context " + *spec.current,
                   "write the name of one of the contexts");
}

}  // namespace

template <>
const Type& struct_type<WrittenContext>() {
  static constexpr Type type =
      object_type<WrittenContext>("a context", context_fields, checked<WrittenContext, check_context>);
  return type;
}
template <>
const Type& struct_type<WrittenContexts>() {
  static constexpr Type type = object_type<WrittenContexts>("the contexts of a user", contexts_fields,
                                                            checked<WrittenContexts, check_contexts>);
  return type;
}
template <>
const Type& struct_type<ContextsDocument>() {
  static constexpr Type type = object_type<ContextsDocument>(
      "a file of contexts", contexts_document_fields, checked<ContextsDocument, check_contexts_document>);
  return type;
}

}  // namespace lockstep

namespace lockstep::client {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string named_file(const std::string& config, const Said<std::string>& file) {
  return file.said ? file_beside(config, *file) : "";
}

struct ReadContexts {
  Contexts contexts;
  ContextsDocument document;
};
Result<ReadContexts> parse(const std::string& file, std::string text) {
  ReadContexts out;
  TRY_DONE(load_config(file, std::move(text), struct_type<ContextsDocument>(), &out.document,
                       {.one = "a user has one file of contexts",
                        .hint = "write apiVersion, kind: Contexts and spec (docs/service.md)"}));
  const WrittenContexts& spec = *out.document.spec;
  out.contexts.current = spec.current.or_else("");
  for (const WrittenContext& one : spec.contexts)
    out.contexts.all.push_back({*one.name, *one.server, named_file(file, one.ca),
                                named_file(file, one.certificate), named_file(file, one.key),
                                named_file(file, one.token_file)});
  return out;
}

Result<std::string> text_of_own_file(const std::string& file) {
  TRY_DONE(check_written_by_us(file, "could choose where tokens are sent"));
  FileText read = read_named(file, kContextsMax);
  if (read.outcome == FileText::Outcome::missing) return std::string();
  if (!read) return Error{ErrorKind::refused, read.why};
  return read.text;
}

// The text with `current: NAME` in the place of what is there; empty: it is not in a line of its own.
std::string with_current(const std::string& text, const Said<std::string>& current, const std::string& name) {
  constexpr std::string_view kSpec = "spec:\n";
  if (!current.said) {
    const std::size_t spec = text.starts_with(kSpec) ? 0 : text.find("\n" + std::string(kSpec));
    if (spec == text.npos) return "";
    const std::size_t after = text.find('\n', spec + 1) + 1;
    const std::size_t first = text.find_first_not_of(' ', after);
    if (first == text.npos || first == after) return "";
    return text.substr(0, after) + text.substr(after, first - after) + "current: " + name + "\n" +
           text.substr(after);
  }
  std::size_t begin = 0;
  for (std::uint32_t line = 1; line < current.at.line; ++line) begin = text.find('\n', begin) + 1;
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  const std::size_t first = text.find_first_not_of(' ', begin);
  if (text.compare(first, 8, "current:") != 0) return "";
  return text.substr(0, first) + "current: " + name + text.substr(end);
}

}  // namespace

const Context* Contexts::find(const std::string& name) const {
  const auto found = std::ranges::find(all, name, &Context::name);
  return found == all.end() ? nullptr : &*found;
}

std::string contexts_file() {
  if (std::string file = variable("LOCKSTEP_CONTEXT_FILE"); !file.empty()) return file;
  std::string folder = variable("XDG_CONFIG_HOME");
  if (folder.empty()) folder = variable("HOME") + "/.config";
  return folder + "/lockstep/contexts.yaml";
}

Result<Contexts> parse_contexts(const std::string& file, std::string text) {
  TRY(ReadContexts read, parse(file, std::move(text)));
  return std::move(read.contexts);
}

Result<Contexts> read_contexts(const std::string& file) {
  TRY(std::string text, text_of_own_file(file));
  if (text.empty()) return Contexts{};
  return parse_contexts(file, std::move(text));
}

Result<Done> use_context(const std::string& file, const std::string& name) {
  TRY(const std::string text, text_of_own_file(file));
  ReadContexts before;
  if (!text.empty()) {
    TRY(before, parse(file, text));
  }
  if (before.contexts.find(name) == nullptr)
    return Error{ErrorKind::invalid_spec, file + " has no context '" + name + "'"};
  const std::string edited = with_current(text, before.document.spec->current, name);
  // What the edit means is read back: no form of YAML may make it mean something else.
  const Result<Contexts> after = parse_contexts(file, edited);
  if (!after || after->current != name || after->all != before.contexts.all)
    return Error{ErrorKind::refused, file + ": can't change `current` in it; write \"current: " + name +
                                         "\" there, in a line of its own"};
  return replace_file(file, edited, {.mode = 0600});
}

}  // namespace lockstep::client

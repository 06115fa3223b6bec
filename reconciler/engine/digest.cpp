#include "reconciler/engine/digest.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <stdexcept>

#include "reconciler/engine/fleet.hpp"
#include "specs/model/schema_rows.hpp"

namespace lockstep {

Digest::Digest() : context_(EVP_MD_CTX_new()) {
  if (context_ == nullptr ||
      EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("OpenSSL has no SHA-256");
}
Digest::~Digest() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void Digest::number(std::uint64_t value) {
  std::array<char, sizeof value> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  pending_.append(bytes.data(), bytes.size());
}

void Digest::flush() {
  EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), pending_.data(), pending_.size());
  pending_.clear();
}

void Digest::add(std::string_view field) {
  number(field.size());
  pending_ += field;
  if (pending_.size() >= kPieceSize) flush();
}

void Digest::add(Path path) {
  if (row_ != path.row()) {
    row_ = path.row();
    tag('r');
    add(schema_row(path.row()).pattern);
  }
  tag(static_cast<char>('0' + path.key_count()));
  for (std::size_t key = 0; key < path.key_count(); ++key) add(path.key(key));
}

void Digest::add(Value value) {
  tag(static_cast<char>('a' + static_cast<int>(value.kind())));
  switch (value.kind()) {
    case Value::Kind::none:
    case Value::Kind::present: return;
    case Value::Kind::boolean: return tag(value.as_boolean() ? '1' : '0');
    case Value::Kind::integer: return number(static_cast<std::uint64_t>(value.as_integer()));
    case Value::Kind::text:
    case Value::Kind::list:
    case Value::Kind::secret:
    case Value::Kind::reference: return add(value.as_text());
  }
}

std::string Digest::finish() {
  flush();
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned length = 0;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), out.data(), &length);
  std::string text = "sha256:";
  constexpr std::string_view kHex = "0123456789abcdef";
  for (unsigned i = 0; i < length; ++i) {
    text += kHex[out[i] >> 4];
    text += kHex[out[i] & 0xF];
  }
  return text;
}

std::string device_digest(const Intent& intent, const Observation& observation,
                          const std::vector<std::pair<Path, Value>>& read) {
  Digest digest;
  digest.add("device");
  digest.add(intent.device);
  // Both trees are in path order, so one walk through both finds the desired entries that exist.
  const std::span<const Entry> have = observation.have.entries();
  std::size_t at = 0;
  for (const Entry& want : intent.want.entries()) {
    while (at < have.size() && have[at].path != want.path && have[at].path < want.path) ++at;
    const bool there = at < have.size() && have[at].path == want.path;
    const Value seen = there ? have[at++].value : Value{};
    // Effects come and go by themselves: no write depends on them.
    if (schema_row(want.path.row()).facet == Facet::effect) continue;
    digest.add(want.path);
    digest.add(want.value);
    digest.add(seen);
  }
  digest.add("claims");
  for (const Claim& claim : intent.claims) {
    digest.add(schema_row(claim.collection).pattern);
    for (const std::string& key : claim.keys) digest.add(key);
    if (claim.within) digest.add("within " + claim.within->text());
  }
  digest.add("read");
  std::vector<std::pair<Path, Value>> sorted = read;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [path, value] : sorted) {
    if (schema_row(path.row()).facet == Facet::effect) continue;
    digest.add(path);
    digest.add(observation.have.value(path));
  }
  return digest.finish();
}

std::string plan_digest(const Plan& plan) {
  Digest digest;
  digest.add("plan");
  for (const PlanDevice& device : plan.devices) {
    digest.add(device.name);
    digest.add(device.digest);
  }
  for (const Barrier& barrier : plan.barriers) {
    digest.add("barrier");
    for (const std::uint32_t before : barrier.after) digest.add(std::to_string(before));
  }
  for (const Step& step : plan.steps) {
    digest.add(step.device);
    digest.add(step.driver);
    digest.add(step.remedy);
    for (const RowId row : step.if_open) digest.add(schema_row(row).pattern);
    if (step.before_writes) digest.add("before writes");
    for (const Path one : step.quiet) {
      digest.add("quiet");
      digest.add(one);
    }
    if (step.removes_replaced) digest.add("removes what was replaced");
    digest.add(std::to_string(step.wave));
    for (const std::uint32_t before : step.after) digest.add(std::to_string(before));
    for (const std::uint32_t number : step.after_barriers) digest.add("barrier " + std::to_string(number));
    for (const PlannedChange& change : step.changes) {
      digest.add(change.path);
      digest.add(change.was);
      digest.add(change.want);
    }
  }
  return digest.finish();
}

std::string write_digest(const std::string& device, Path path, Value want) {
  Digest digest;
  digest.add("write");
  digest.add(device);
  digest.add(path);
  digest.add(want);
  return digest.finish();
}

PlanOrigin plan_origin(const Origin& origin, const Sources* sources) {
  PlanOrigin out{"", origin.at.line, origin.at.column, origin.object, origin.rule};
  if (sources != nullptr && origin.at.file < sources->files.size())
    out.file = sources->files[origin.at.file].name;
  return out;
}

}  // namespace lockstep

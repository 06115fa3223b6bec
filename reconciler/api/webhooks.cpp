#include "reconciler/api/webhooks.hpp"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>

#include <algorithm>

namespace lockstep::api {
namespace {

constexpr std::string_view kGithubPrefix = "sha256=";

struct FreeMac {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
};

EVP_MAC_CTX* new_hmac(const std::string& secret) {
  const std::unique_ptr<EVP_MAC, FreeMac> hmac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  if (!hmac) return nullptr;
  EVP_MAC_CTX* const out = EVP_MAC_CTX_new(hmac.get());
  std::string digest = "SHA256";
  const std::array<OSSL_PARAM, 2> parameters{
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0), OSSL_PARAM_construct_end()};
  if (out != nullptr && EVP_MAC_init(out, reinterpret_cast<const unsigned char*>(secret.data()),
                                     secret.size(), parameters.data()) == 1)
    return out;
  EVP_MAC_CTX_free(out);
  ERR_clear_error();
  return nullptr;
}

}  // namespace

std::string_view proof_header(Forge forge) {
  switch (forge) {
    case Forge::github: return "X-Hub-Signature-256";
    case Forge::gitlab: return "X-Gitlab-Token";
    case Forge::gitea: return "X-Gitea-Signature";
  }
  return "";
}

WebhookProof::WebhookProof(Forge forge, const std::string& secret, std::string_view proof) {
  if (secret.empty() || proof.empty()) return;
  if (forge == Forge::gitlab) {
    wanted_ = sha256(secret);
    token_ = sha256(proof);
    return;
  }
  if (forge == Forge::github) {
    if (!proof.starts_with(kGithubPrefix)) return;
    proof.remove_prefix(kGithubPrefix.size());
  }
  wanted_ = parse_sha256(proof);
  if (wanted_) mac_.reset(new_hmac(secret));
  if (!mac_) wanted_.reset();
}

void WebhookProof::add(std::string_view piece) {
  if (mac_ &&
      EVP_MAC_update(mac_.get(), reinterpret_cast<const unsigned char*>(piece.data()), piece.size()) != 1)
    wanted_.reset();
}

bool WebhookProof::holds() {
  if (!wanted_) return false;
  if (!mac_) return is_equal(*wanted_, token_);
  Sha256 made{};
  std::size_t size = 0;
  return EVP_MAC_final(mac_.get(), made.data(), &size, made.size()) == 1 && size == made.size() &&
         is_equal(*wanted_, made);
}

}  // namespace lockstep::api

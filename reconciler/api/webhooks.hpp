// Webhooks: whether a forge has signed a delivery, as each of them does: GitHub by X-Hub-Signature-256
// ("sha256=" and the HMAC-SHA256 of the body), Gitea and Forgejo by X-Gitea-Signature (the same, without the
// prefix), GitLab by X-Gitlab-Token (the secret itself).
//
// Promises: the body is taken in pieces and not kept; nothing of it is read but for its signature.
// Comparisons take as long whatever is compared. Without a secret nothing is accepted.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "reconciler/api/sha256.hpp"
#include "specs/model/result.hpp"

namespace lockstep::api {

enum class Forge : std::uint8_t { github, gitlab, gitea };
inline constexpr std::size_t kForges = 3;
constexpr auto words(Forge) { return std::to_array<std::string_view>({"github", "gitlab", "gitea"}); }
// The header that proves a delivery.
std::string_view proof_header(Forge forge);

class WebhookProof {
 public:
  // `proof`: the header's value.
  WebhookProof(Forge forge, const std::string& secret, std::string_view proof);
  void add(std::string_view piece);
  // At the end of the body, once.
  bool holds();

 private:
  struct Free {
    void operator()(EVP_MAC_CTX* mac) const { EVP_MAC_CTX_free(mac); }
  };
  std::optional<Sha256> wanted_;  // none: the header is malformed, or there is no secret
  Sha256 token_{};                // of GitLab's: the hash of what came
  std::unique_ptr<EVP_MAC_CTX, Free> mac_;
};

}  // namespace lockstep::api

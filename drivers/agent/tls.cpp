#include "drivers/agent/tls.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <vector>

#include "drivers/agent/tls_verify.hpp"
#include "specs/files/file_stamp.hpp"
#include "specs/files/read_file.hpp"
#include "specs/files/secret_file.hpp"

namespace lockstep {
namespace {

// Files of certificates have some KiB; a revocation list has some 40 bytes for each certificate.
constexpr std::size_t kFileMax = std::size_t{4} << 20;
// Root, two below it, and the certificate itself: more than any CA of one cluster needs.
constexpr int kChainMax = 4;
// What the other end may send as its chain before it is known: chosen, OpenSSL's own limit is 100 KiB.
constexpr long kChainBytesMax = 32L << 10;
// 112 bits: RSA from 2048, no SHA-1 (SSL_CTX_set_security_level(3)).
constexpr int kSecurityLevel = 2;

struct Free {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_CRL* list) const { X509_CRL_free(list); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

Error unusable(const std::string& file, const std::string& why) {
  return Error{ErrorKind::denied, file + ": " + why};
}

// Empties the error queue: what stays there would be taken for the reason of a later failure.
std::string openssl_reason(const char* otherwise) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const text = ERR_reason_error_string(code);
  return text == nullptr ? otherwise : text;
}

Result<Owned<BIO>> opened(const std::string& file) {
  const FileText read = read_named(file, kFileMax);
  if (!read) return unusable(file, read.why);
  Owned<BIO> out(BIO_new(BIO_s_mem()));
  if (!out || BIO_write(out.get(), read.text.data(), static_cast<int>(read.text.size())) !=
                  static_cast<int>(read.text.size()))
    return unusable(file, read.text.empty() ? "is empty" : "out of memory");
  return out;
}

// All objects of one type in a PEM file; at least one.
template <class T>
Result<std::vector<Owned<T>>> read_all(const std::string& file, const char* what,
                                       T* (*read)(BIO*, T**, pem_password_cb*, void*)) {
  TRY(const Owned<BIO> text, opened(file));
  std::vector<Owned<T>> out;
  while (T* const one = read(text.get(), nullptr, nullptr, nullptr)) out.emplace_back(one);
  const bool ended = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string why = openssl_reason("malformed");
  if (!ended) return unusable(file, "malformed PEM " + std::string(what) + " (" + why + ")");
  if (out.empty()) return unusable(file, "has no PEM " + std::string(what));
  return out;
}

Result<Done> believe(SSL_CTX* context, const TlsFiles& files) {
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  TRY(const auto authorities, read_all<X509>(files.ca, "certificate", PEM_read_bio_X509));
  for (const auto& one : authorities)
    if (X509_STORE_add_cert(store, one.get()) != 1)
      return unusable(files.ca, openssl_reason("can't be used"));
  if (files.revoked.empty()) return Done{};
  TRY(const auto lists, read_all<X509_CRL>(files.revoked, "revocation list (CRL)", PEM_read_bio_X509_CRL));
  for (const auto& one : lists)
    if (X509_STORE_add_crl(store, one.get()) != 1)
      return unusable(files.revoked, openssl_reason("can't be used"));
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
  return Done{};
}

Result<Done> present(SSL_CTX* context, const std::string& file) {
  TRY(auto chain, read_all<X509>(file, "certificate", PEM_read_bio_X509));
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1)
    return unusable(file, openssl_reason("can't be used"));
  for (std::size_t i = 1; i < chain.size(); ++i)
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1)
      return unusable(file, openssl_reason("can't be used"));
  return Done{};
}

// A process without a terminal can't be asked for a passphrase.
int no_passphrase(char*, int, int, void*) { return -1; }

Result<Done> take_key(SSL_CTX* context, const TlsFiles& files) {
  TRY_DONE(check_secret_file(files.key, "private key"));
  TRY(const Owned<BIO> text, opened(files.key));
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(text.get(), nullptr, no_passphrase, nullptr));
  if (!key) return unusable(files.key, "has no unencrypted PEM private key (" + openssl_reason("none") + ")");
  if (X509_check_private_key(SSL_CTX_get0_certificate(context), key.get()) != 1) {
    ERR_clear_error();
    return unusable(files.key, "is not the key of the certificate in " + files.certificate);
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1)
    return unusable(files.key, openssl_reason("can't be used"));
  return Done{};
}

bool restrict(SSL_CTX* context) {
  SSL_CTX_set_security_level(context, kSecurityLevel);
  SSL_CTX_set_max_cert_list(context, kChainBytesMax);
  SSL_CTX_set_verify_depth(context, kChainMax - 1);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, keep_verify_reason);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);  // an idle connection holds none
  return SSL_CTX_set_num_tickets(context, 0) == 1 &&
         SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1;
}

}  // namespace

Result<TlsContext> tls_context(const TlsFiles& files, bool server) {
  ERR_clear_error();
  TlsContext out(SSL_CTX_new(server ? TLS_server_method() : TLS_client_method()));
  if (!out || !restrict(out.get()))
    return Error{ErrorKind::denied, "TLS 1.3 is not available: " + openssl_reason("OpenSSL's configuration")};
  TRY_DONE(believe(out.get(), files));
  TRY_DONE(present(out.get(), files.certificate));
  TRY_DONE(take_key(out.get(), files));
  return out;
}

std::string stamp_of(const TlsFiles& files) {
  std::string out;
  for (const std::string* const file : {&files.ca, &files.certificate, &files.key, &files.revoked})
    out += file_stamp(*file) + ";";
  return out;
}

}  // namespace lockstep

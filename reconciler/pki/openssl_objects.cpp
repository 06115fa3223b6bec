#include "reconciler/pki/openssl_objects.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <ctime>
#include <type_traits>

#include "specs/files/read_file.hpp"
#include "specs/files/secret_file.hpp"

namespace lockstep {
namespace {

// A revocation list has some 40 bytes for each certificate.
constexpr std::size_t kFileMax = std::size_t{4} << 20;

// A command in a script can't be asked for a passphrase.
int no_passphrase(char*, int, int, void*) { return -1; }

std::string reason_of_queue() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const text = ERR_reason_error_string(code);
  return text == nullptr ? "unknown reason" : text;
}

// `what`: "certificate".
template <class T>
Result<Object<T>> read_object(const std::string& file, const std::string& what,
                              T* (*read)(BIO*, T**, pem_password_cb*, void*)) {
  const FileText found = read_named(file, kFileMax);
  if (!found) return Error{ErrorKind::denied, file + ": " + found.why};
  ERR_clear_error();
  const Object<BIO> text(BIO_new_mem_buf(found.text.data(), static_cast<int>(found.text.size())));
  if (!text) return openssl_error(file);
  Object<T> out(read(text.get(), nullptr, no_passphrase, nullptr));
  if (out) return out;
  // For a key, which is read by decoders, the queue does not tell whether there is one.
  const bool absent =
      std::is_same_v<T, EVP_PKEY> || ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string why = reason_of_queue();
  return Error{ErrorKind::denied,
               absent ? file + ": has no PEM " + what : file + ": malformed PEM " + what + " (" + why + ")"};
}

template <class Write>
Result<std::string> pem_by(const Write& write) {
  const Object<BIO> out(BIO_new(BIO_s_mem()));
  if (!out || write(out.get()) != 1) return openssl_error("can't be written as PEM");
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

}  // namespace

Error openssl_error(const std::string& what) {
  return Error{ErrorKind::refused, what + ": " + reason_of_queue()};
}

Result<Object<X509>> read_certificate(const std::string& file) {
  return read_object<X509>(file, "certificate", PEM_read_bio_X509);
}

Result<Object<X509_CRL>> read_revocation_list(const std::string& file) {
  return read_object<X509_CRL>(file, "revocation list (CRL)", PEM_read_bio_X509_CRL);
}

Result<Object<EVP_PKEY>> read_private_key(const std::string& file) {
  TRY_DONE(check_secret_file(file, "private key"));
  return read_object<EVP_PKEY>(file, "private key without a passphrase", PEM_read_bio_PrivateKey);
}

Result<std::string> pem_of(X509* certificate) {
  return pem_by([&](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

Result<std::string> pem_of(X509_CRL* list) {
  return pem_by([&](BIO* out) { return PEM_write_bio_X509_CRL(out, list); });
}

Result<std::string> pem_of(EVP_PKEY* key) {
  return pem_by(
      [&](BIO* out) { return PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

std::optional<std::chrono::sys_seconds> time_of(const ASN1_TIME* time) {
  std::tm utc{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &utc) != 1) {
    ERR_clear_error();
    return std::nullopt;
  }
  return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&utc)));
}

std::string serial_text(const ASN1_INTEGER* serial) {
  const Object<BIGNUM> number(ASN1_INTEGER_to_BN(serial, nullptr));
  char* const digits = number ? BN_bn2hex(number.get()) : nullptr;
  std::string out = digits == nullptr ? "" : digits;
  OPENSSL_free(digits);
  return out;
}

}  // namespace lockstep

#include "tests/unit/agent/pki.hpp"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <ctime>
#include <fstream>
#include <functional>

namespace lockstep {
namespace {

constexpr long kVersion3 = 2;  // X.509 v3 and, one lower, CRL v2 count from 0

template <auto F>
struct FreeBy {
  template <class T>
  void operator()(T* one) const {
    F(one);
  }
};
using OwnedBio = std::unique_ptr<BIO, FreeBy<BIO_free>>;
using OwnedCrl = std::unique_ptr<X509_CRL, FreeBy<X509_CRL_free>>;
using OwnedNames = std::unique_ptr<GENERAL_NAMES, FreeBy<GENERAL_NAMES_free>>;

std::string pem(const std::function<int(BIO*)>& write) {
  const OwnedBio out(BIO_new(BIO_s_mem()));
  EXPECT_EQ(write(out.get()), 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string pem(X509* certificate) {
  return pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

std::time_t at(std::chrono::seconds from_now) {
  return static_cast<std::time_t>(std::time(nullptr) + from_now.count());
}

void add_text(GENERAL_NAMES* names, int type, const std::string& text) {
  GENERAL_NAME* const name = GENERAL_NAME_new();
  ASN1_IA5STRING* const value = ASN1_IA5STRING_new();
  ASN1_STRING_set(value, text.data(), static_cast<int>(text.size()));
  GENERAL_NAME_set0_value(name, type, value);
  sk_GENERAL_NAME_push(names, name);
}

void add_names(X509* certificate, const CertificateForm& form) {
  const OwnedNames names(GENERAL_NAMES_new());
  for (const std::string& one : form.dns) add_text(names.get(), GEN_DNS, one);
  for (const std::string& one : form.uris) add_text(names.get(), GEN_URI, one);
  for (const std::string& one : form.ips) {
    GENERAL_NAME* const name = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(name, GEN_IPADD, a2i_IPADDRESS(one.c_str()));
    sk_GENERAL_NAME_push(names.get(), name);
  }
  if (sk_GENERAL_NAME_num(names.get()) == 0) return;
  EXPECT_EQ(X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0), 1);
}

void add_extension(X509* certificate, int nid, const char* value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
  ASSERT_NE(extension, nullptr);
  EXPECT_EQ(X509_add_ext(certificate, extension, -1), 1);
  X509_EXTENSION_free(extension);
}

EVP_PKEY* new_key() { return EVP_EC_gen("P-256"); }

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string form = (std::filesystem::temp_directory_path() / "lockstep-agent-XXXXXX").string();
  EXPECT_NE(::mkdtemp(form.data()), nullptr);
  path_ = form;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_file(const std::filesystem::path& file, const std::string& text, int mode) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  EXPECT_TRUE(out) << file;
  EXPECT_EQ(::chmod(file.c_str(), static_cast<mode_t>(mode)), 0);
}

TestCa::TestCa(std::filesystem::path folder, const std::string& name, const std::string& file)
    : folder_(std::move(folder)),
      name_(name),
      ca_file_((folder_ / (file + ".pem")).string()),
      key_(new_key()) {
  certificate_ = signed_certificate({.dns = {}, .ips = {}, .common_name = name}, key_.get(), true);
  write_file(ca_file_, pem(certificate_.get()));
}

std::unique_ptr<X509, TestCa::Free> TestCa::signed_certificate(const CertificateForm& form, EVP_PKEY* key,
                                                               bool ca) {
  static std::atomic<long> serial{1};
  std::unique_ptr<X509, Free> out(X509_new());
  X509_set_version(out.get(), kVersion3);
  ASN1_INTEGER_set(X509_get_serialNumber(out.get()), serial++);
  ASN1_TIME_set(X509_getm_notBefore(out.get()), at(form.from));
  ASN1_TIME_set(X509_getm_notAfter(out.get()), at(form.until));
  X509_set_pubkey(out.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(out.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(form.common_name.c_str()), -1, -1, 0);
  X509_set_issuer_name(out.get(), X509_get_subject_name(certificate_ ? certificate_.get() : out.get()));
  add_names(out.get(), form);
  if (ca) add_extension(out.get(), NID_basic_constraints, "critical,CA:TRUE");
  if (!form.usage.empty()) add_extension(out.get(), NID_ext_key_usage, form.usage.c_str());
  EXPECT_GT(X509_sign(out.get(), key_.get(), EVP_sha256()), 0);
  return out;
}

TlsFiles TestCa::issue(const std::string& file, const CertificateForm& form) {
  const std::unique_ptr<EVP_PKEY, Free> key(new_key());
  const auto certificate = signed_certificate(form, key.get(), false);
  TlsFiles out{.ca = ca_file_,
               .certificate = (folder_ / (file + ".pem")).string(),
               .key = (folder_ / (file + ".key")).string(),
               .revoked = ""};
  write_file(out.certificate, pem(certificate.get()) + chain_);
  write_file(out.key, pem([&](BIO* to) {
               return PEM_write_bio_PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
             }));
  return out;
}

TlsFiles TestCa::issue(const std::string& file, const std::string& uri) {
  return issue(file, CertificateForm{.uris = {uri}});
}

TestCa TestCa::intermediate(const std::string& name, const std::string& file, bool ca) {
  TestCa out;
  out.folder_ = folder_;
  out.name_ = name;
  out.ca_file_ = ca_file_;
  out.key_.reset(new_key());
  out.certificate_ = signed_certificate({.dns = {}, .ips = {}, .common_name = name}, out.key_.get(), ca);
  out.chain_ = pem(out.certificate_.get()) + chain_;
  write_file(folder_ / (file + ".pem"), pem(out.certificate_.get()));
  return out;
}

std::string TestCa::revoke(const std::vector<std::string>& certificates, std::chrono::seconds until) {
  const OwnedCrl list(X509_CRL_new());
  X509_CRL_set_version(list.get(), kVersion3 - 1);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(certificate_.get()));
  ASN1_TIME* const time = ASN1_TIME_new();
  ASN1_TIME_set(time, at(std::chrono::hours(-2)));
  X509_CRL_set1_lastUpdate(list.get(), time);
  for (const std::string& file : certificates) {
    const OwnedBio text(BIO_new_file(file.c_str(), "r"));
    const std::unique_ptr<X509, Free> one(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
    EXPECT_TRUE(one) << file;
    if (!one) continue;
    X509_REVOKED* const revoked = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(revoked, X509_get_serialNumber(one.get()));
    X509_REVOKED_set_revocationDate(revoked, time);
    X509_CRL_add0_revoked(list.get(), revoked);
  }
  ASN1_TIME_set(time, at(until));
  X509_CRL_set1_nextUpdate(list.get(), time);
  ASN1_TIME_free(time);
  X509_CRL_sort(list.get());
  EXPECT_GT(X509_CRL_sign(list.get(), key_.get(), EVP_sha256()), 0);
  const std::string out = (folder_ / (name_ + ".crl")).string();
  write_file(out, pem([&](BIO* to) { return PEM_write_bio_X509_CRL(to, list.get()); }));
  return out;
}

}  // namespace lockstep

// A certificate authority for tests, made in this process: what `openssl ca` would be scripted for, without
// programs, and with certificates that no sane CA issues. Files are PEM in a temporary folder of the test.
#pragma once

#include <openssl/x509.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "drivers/agent/tls.hpp"

namespace lockstep {

// A folder that is removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void write_file(const std::filesystem::path& file, const std::string& text, int mode = 0600);

struct CertificateForm {
  std::vector<std::string> uris{};  // "lockstep://rail-pod/device/gpu1"
  std::vector<std::string> dns{"localhost"};
  std::vector<std::string> ips{"127.0.0.1", "127.0.0.2", "::1"};
  std::chrono::seconds from{-3600};  // from now
  std::chrono::seconds until{3600};
  std::string common_name{"test"};
  std::string usage{};  // extended key usage: "clientAuth", "serverAuth"; empty: none
};

class TestCa {
 public:
  // Several of one name in one folder are different CAs; `file` distinguishes their files.
  TestCa(std::filesystem::path folder, const std::string& name, const std::string& file);

  // FILE.pem with its chain and FILE.key (0600), the CA's own file, and no revocation list.
  TlsFiles issue(const std::string& file, const CertificateForm& form);
  TlsFiles issue(const std::string& file, const std::string& uri);
  // A CA below this one, whose certificates come with its own. `ca`: whether its certificate says that it is
  // one.
  TestCa intermediate(const std::string& name, const std::string& file, bool ca = true);
  // Writes this CA's revocation list with these certificates (PEM files), and returns its file. `until`: when
  // it expires, from now.
  std::string revoke(const std::vector<std::string>& certificates,
                     std::chrono::seconds until = std::chrono::hours(1));
  const std::string& file() const { return ca_file_; }

 private:
  struct Free {
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  };
  TestCa() = default;
  std::unique_ptr<X509, Free> signed_certificate(const CertificateForm& form, EVP_PKEY* key, bool ca);

  std::filesystem::path folder_;
  std::string name_;
  std::string ca_file_;  // of the root
  std::string chain_;    // PEM of the CAs below the root, this one first
  std::unique_ptr<EVP_PKEY, Free> key_;
  std::unique_ptr<X509, Free> certificate_;
};

}  // namespace lockstep

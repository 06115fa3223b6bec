// Opens a store for a test, to lead or to read. Throws on failure.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "reconciler/store/store.hpp"

namespace lockstep {

inline std::unique_ptr<Store> stored(const std::string& directory, const StoreOptions& options = {}) {
  auto store = open_store(directory, options);
  if (!store) throw std::runtime_error(store.error().text());
  return *std::move(store);
}

inline std::unique_ptr<Store> led(const std::string& directory, const StoreOptions& options = {},
                                  const std::string& command = "lockstep apply") {
  auto store = stored(directory, options);
  if (const auto epoch = store->leadership().take(command); !epoch)
    throw std::runtime_error(epoch.error().text());
  return store;
}

}  // namespace lockstep

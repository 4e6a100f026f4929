// The functions as the jumps find them (accel/preload).
#include "accel/preload/table.h"

#define FUNCTION(name) extern "C" void accel_##name();
#include "accel/preload/functions.def"
#undef FUNCTION

#define FUNCTION(name) {#name, reinterpret_cast<void*>(&accel_##name)},
extern "C" __attribute__((visibility("default"))) const AccelFunction esp_accel_functions[] = {
#include "accel/preload/functions.def"
    {nullptr, nullptr}};

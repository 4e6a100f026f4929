/* What an accelerator gives to the jumps: an array `esp_accel_functions` that ends with a NULL. */
#ifndef ESPALIER_ACCEL_TABLE_H
#define ESPALIER_ACCEL_TABLE_H

struct AccelFunction {
  const char* name;
  void* function;
};

#endif /* ESPALIER_ACCEL_TABLE_H */

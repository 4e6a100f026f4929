// A planted violation for the self test of mutable_globals.py.
extern "C" int planted_count() {
  static int planted_counter = 1;
  return planted_counter++;
}

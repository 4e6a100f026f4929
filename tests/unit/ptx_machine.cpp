#include "tests/unit/ptx_machine.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <sstream>

#include "core/half.hpp"

namespace espalier {
namespace {

std::uint64_t low_bits(std::uint64_t value, int bits) {
  return bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

std::vector<std::string> split_at(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

// u64, s32, f32, b16
bool is_type(const std::string& part) {
  return part.size() > 1 && std::string_view("usfb").find(part[0]) != std::string_view::npos &&
         std::isdigit(static_cast<unsigned char>(part[1])) != 0;
}

template <typename Float, typename Bits>
std::uint64_t float_result(std::uint64_t a, std::uint64_t b, char operation) {
  const auto x = std::bit_cast<Float>(static_cast<Bits>(a));
  const auto y = std::bit_cast<Float>(static_cast<Bits>(b));
  return std::bit_cast<Bits>(operation == '+' ? x + y : operation == '-' ? x - y : x * y);
}

}  // namespace

PtxMachine::PtxMachine(std::string_view module) {
  std::istringstream lines{std::string(module)};
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "{") inside = true;
    if (inside && line != "{" && line != "}" && line[0] != '.') parse(line);
  }
}

std::size_t PtxMachine::register_of(std::string_view name) {
  const auto found = register_indices_.find(name);
  if (found != register_indices_.end()) return found->second;
  registers_.push_back(0);
  return register_indices_.emplace(name, registers_.size() - 1).first->second;
}

// %rd1, 12, 0f3F800000, esp_name_param_0 (which begins at 0), any of them with +12 behind it.
PtxMachine::Operand PtxMachine::operand(std::string_view text) {
  Operand result;
  const std::size_t plus = text.find('+');
  const std::string base(text.substr(0, plus));
  if (plus != std::string_view::npos) {
    result.value = static_cast<std::uint64_t>(std::stoll(std::string(text.substr(plus + 1))));
  }
  if (base[0] == '%') {
    result.is_register = true;
    result.index = register_of(base);
  } else if (base.starts_with("0f") || base.starts_with("0d")) {
    result.value = std::stoull(base.substr(2), nullptr, 16);
  } else if (base[0] == '-' || std::isdigit(static_cast<unsigned char>(base[0])) != 0) {
    result.value =
        base[0] == '-' ? static_cast<std::uint64_t>(std::stoll(base)) : std::stoull(base);
  } else if (base.find("_param_0") == std::string::npos) {
    fault_ = "unknown operand " + base;
  }
  return result;
}

void PtxMachine::parse(std::string line) {
  if (line.back() == ':') {
    labels_[line.substr(0, line.size() - 1)] = code_.size();
    return;
  }
  Instruction i;
  i.text = line;
  std::erase_if(line,
                [](char c) { return c == ';' || c == '{' || c == '}' || c == '[' || c == ']'; });
  std::replace(line.begin(), line.end(), ',', ' ');
  std::istringstream words(line);
  std::string word;
  words >> word;
  if (word[0] == '@') {
    i.guarded = true;
    i.guarded_by_false = word[1] == '!';
    i.guard = register_of(std::string_view(word).substr(i.guarded_by_false ? 2 : 1));
    words >> word;
  }
  if (!decode(i, word) && fault_.empty()) fault_ = "unknown instruction: " + i.text;
  while (words >> word) {
    if (i.opcode == Opcode::kBranch) {
      i.target = word;
    } else {
      i.operands.push_back(operand(word));
    }
  }
  code_.push_back(std::move(i));
}

// Of floating-point numbers these alone.
bool PtxMachine::can_calculate(const Instruction& i) {
  if (i.type.kind != 'f' && i.from.kind != 'f') return true;
  switch (i.opcode) {
    case Opcode::kConvert:
      return i.type.kind == i.from.kind && i.type.bits + i.from.bits == 32 + 16;
    case Opcode::kAdd:
    case Opcode::kSub:
    case Opcode::kMul:
      return i.type.bits != 16;
    case Opcode::kMov:
    case Opcode::kLoad:
    case Opcode::kStore:
      return true;
    default:
      return false;
  }
}

// Of "setp.lt.u64" and the like: the last part is the type.
bool PtxMachine::decode(Instruction& i, const std::string& name) {
  static constexpr struct {
    std::string_view name;
    Opcode opcode;
  } kOpcodes[] = {{"add", Opcode::kAdd},     {"sub", Opcode::kSub},      {"mul", Opcode::kMul},
                  {"div", Opcode::kDiv},     {"min", Opcode::kMin},      {"max", Opcode::kMax},
                  {"neg", Opcode::kNeg},     {"and", Opcode::kAnd},      {"or", Opcode::kOr},
                  {"xor", Opcode::kXor},     {"shl", Opcode::kShl},      {"shr", Opcode::kShr},
                  {"bfe", Opcode::kBfe},     {"mov", Opcode::kMov},      {"cvta", Opcode::kMov},
                  {"selp", Opcode::kSelect}, {"setp", Opcode::kCompare}, {"cvt", Opcode::kConvert},
                  {"ld", Opcode::kLoad},     {"st", Opcode::kStore},     {"bra", Opcode::kBranch},
                  {"ret", Opcode::kReturn}};
  static constexpr std::string_view kOrders[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  const std::vector<std::string> parts = split_at(name, '.');
  const auto* const known = std::find_if(std::begin(kOpcodes), std::end(kOpcodes),
                                         [&](const auto& entry) { return entry.name == parts[0]; });
  if (known == std::end(kOpcodes)) return false;
  i.opcode = known->opcode;
  std::vector<Type> types;
  for (std::size_t at = 1; at < parts.size(); ++at) {
    const std::string& part = parts[at];
    const auto* const order = std::find(std::begin(kOrders), std::end(kOrders), part);
    if (order != std::end(kOrders)) {
      i.order = static_cast<Order>(order - std::begin(kOrders));
    } else if (part == "pred") {
      types.push_back({'p', 1});
    } else if (part == "wide") {
      i.opcode = Opcode::kMulWide;
    } else if (part == "param") {
      i.opcode = Opcode::kLoadParameter;
    } else if (part == "v2" || part == "v4") {
      i.vector = part == "v2" ? 2 : 4;
    } else if (is_type(part)) {
      types.push_back({part[0], std::stoi(part.substr(1))});
    } else if (part != "rn" && part != "lo" && part != "uni" && part != "to" && part != "global") {
      return false;
    }
  }
  if (types.empty()) return i.opcode == Opcode::kBranch || i.opcode == Opcode::kReturn;
  i.type = types.front();
  i.from = types.back();
  return can_calculate(i);
}

std::string PtxMachine::run(std::uint32_t blocks, std::uint32_t threads, const void* parameters) {
  for (std::uint32_t block = 0; block < blocks; ++block) {
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      registers_[register_of("%tid.x")] = thread;
      registers_[register_of("%ntid.x")] = threads;
      registers_[register_of("%ctaid.x")] = block;
      registers_[register_of("%nctaid.x")] = blocks;
      if (fault_.empty()) run_thread(parameters);
    }
  }
  return fault_;
}

void PtxMachine::run_thread(const void* parameters) {
  std::size_t at = 0;
  for (std::uint64_t steps = 0; steps < 1'000'000 && at < code_.size(); ++steps) {
    const Instruction& i = code_[at++];
    if (i.guarded && (registers_[i.guard] != 0) == i.guarded_by_false) continue;
    if (i.opcode == Opcode::kReturn) return;
    if (i.opcode == Opcode::kBranch) {
      at = labels_.at(i.target);
      continue;
    }
    execute(i, static_cast<const std::byte*>(parameters));
    if (!fault_.empty()) return;
  }
  fault_ = "it does not end";
}

std::uint64_t PtxMachine::read(const Operand& operand) const {
  return operand.is_register ? registers_[operand.index] + operand.value : operand.value;
}

std::int64_t PtxMachine::read_signed(const Operand& operand, int bits) const {
  return static_cast<std::int64_t>(read(operand) << (64 - bits)) >> (64 - bits);
}

void PtxMachine::execute(const Instruction& i, const std::byte* parameters) {
  std::uint64_t result = 0;
  int bits = i.type.bits;
  switch (i.opcode) {
    case Opcode::kLoad:
    case Opcode::kLoadParameter:
    case Opcode::kStore:
      return move(i, parameters);
    case Opcode::kCompare:
      result = compare(i) ? 1 : 0;
      break;
    case Opcode::kConvert:
      result = convert(i);
      break;
    case Opcode::kMulWide:
      bits *= 2;
      [[fallthrough]];
    default:
      result = i.type.kind == 'f' ? calculate_float(i) : calculate(i);
  }
  registers_[i.operands[0].index] = low_bits(result, bits);
}

// The address is the last operand of a load and the first of a store.
void PtxMachine::move(const Instruction& i, const std::byte* parameters) {
  const std::size_t bytes = static_cast<std::size_t>(i.type.bits) / 8;
  const bool stores = i.opcode == Opcode::kStore;
  const std::uint64_t address = read(stores ? i.operands.front() : i.operands.back());
  if (address % (bytes * i.vector) != 0) {
    fault_ = "not aligned: " + i.text;
    return;
  }
  for (std::size_t lane = 0; lane < i.vector; ++lane) {
    const std::uint64_t at = address + lane * bytes;
    if (stores) {
      const std::uint64_t value = read(i.operands[1 + lane]);
      std::memcpy(reinterpret_cast<void*>(at), &value, bytes);
    } else {
      const void* const from = i.opcode == Opcode::kLoadParameter
                                   ? static_cast<const void*>(parameters + at)
                                   : reinterpret_cast<const void*>(at);
      std::uint64_t value = 0;
      std::memcpy(&value, from, bytes);
      registers_[i.operands[lane].index] = value;
    }
  }
}

bool PtxMachine::compare(const Instruction& i) const {
  const auto by_order = [&i](auto a, auto b) {
    switch (i.order) {
      case Order::kEq:
        return a == b;
      case Order::kNe:
        return a != b;
      case Order::kLt:
        return a < b;
      case Order::kLe:
        return a <= b;
      case Order::kGt:
        return a > b;
      default:
        return a >= b;
    }
  };
  const int bits = i.type.bits;
  if (i.type.kind == 's') {
    return by_order(read_signed(i.operands[1], bits), read_signed(i.operands[2], bits));
  }
  return by_order(low_bits(read(i.operands[1]), bits), low_bits(read(i.operands[2]), bits));
}

std::uint64_t PtxMachine::convert(const Instruction& i) const {
  const std::uint64_t value = low_bits(read(i.operands[1]), i.from.bits);
  if (i.from.kind == 'f' && i.from.bits == 16) {
    return float_bits(to_float(Half{static_cast<std::uint16_t>(value)}));
  }
  if (i.type.kind == 'f') return to_half(float_from_bits(static_cast<std::uint32_t>(value))).bits;
  if (i.from.kind != 's') return value;
  return static_cast<std::uint64_t>(read_signed(i.operands[1], i.from.bits));
}

std::uint64_t PtxMachine::calculate_float(const Instruction& i) const {
  if (i.opcode == Opcode::kMov) return read(i.operands[1]);
  const char operation = i.opcode == Opcode::kAdd ? '+' : i.opcode == Opcode::kSub ? '-' : '*';
  const std::uint64_t a = read(i.operands[1]);
  const std::uint64_t b = read(i.operands[2]);
  return i.type.bits == 32 ? float_result<float, std::uint32_t>(a, b, operation)
                           : float_result<double, std::uint64_t>(a, b, operation);
}

std::uint64_t PtxMachine::calculate(const Instruction& i) const {
  const int bits = i.type.bits;
  const bool is_signed = i.type.kind == 's';
  const auto at = [&](std::size_t j) {
    return j >= i.operands.size() ? 0
           : is_signed            ? static_cast<std::uint64_t>(read_signed(i.operands[j], bits))
                                  : low_bits(read(i.operands[j]), bits);
  };
  const std::uint64_t a = at(1);
  const std::uint64_t b = at(2);
  const bool less = is_signed ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) : a < b;
  const auto shift = static_cast<int>(std::min<std::uint64_t>(b & 0xffffffffu, 64));
  switch (i.opcode) {
    case Opcode::kAdd:
      return a + b;
    case Opcode::kSub:
      return a - b;
    case Opcode::kMul:
    case Opcode::kMulWide:
      return a * b;
    case Opcode::kDiv:
      return b == 0 ? ~std::uint64_t{0} : a / b;
    case Opcode::kMin:
      return less ? a : b;
    case Opcode::kMax:
      return less ? b : a;
    case Opcode::kNeg:
      return 0 - a;
    case Opcode::kAnd:
      return a & b;
    case Opcode::kOr:
      return a | b;
    case Opcode::kXor:
      return a ^ b;
    case Opcode::kShl:
      return shift >= bits ? 0 : a << shift;
    case Opcode::kShr:
      if (is_signed) {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(a) >> std::min(shift, 63));
      }
      return shift >= bits ? 0 : a >> shift;
    case Opcode::kBfe:
      return low_bits(a >> b, static_cast<int>(read(i.operands[3])));
    case Opcode::kSelect:
      return read(i.operands[3]) != 0 ? a : b;
    default:
      return a;
  }
}

}  // namespace espalier

// PtxMachine: runs a kernel in PTX, an instruction at a time, on memory of the host.
//
// What a compiler made of a kernel can so be tried without a device. It knows what the kernels of
// the library are made of; anything else is a fault, and so is what a device would not do: an
// access that is not aligned to its size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

class PtxMachine {
 public:
  // A module of one kernel.
  explicit PtxMachine(std::string_view module);

  // All threads of so many blocks, one after the other. What went wrong, or nothing.
  std::string run(std::uint32_t blocks, std::uint32_t threads, const void* parameters);

 private:
  enum class Opcode : std::uint8_t {
    kAdd,
    kSub,
    kMul,
    kMulWide,
    kDiv,
    kMin,
    kMax,
    kNeg,
    kAnd,
    kOr,
    kXor,
    kShl,
    kShr,
    kBfe,
    kMov,
    kSelect,
    kCompare,
    kConvert,
    kLoad,
    kLoadParameter,
    kStore,
    kBranch,
    kReturn
  };
  enum class Order : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe };
  struct Type {
    char kind = 'b';  // as in PTX: of u64, s32, f32, b16; p: predicate
    int bits = 64;
  };
  struct Operand {
    bool is_register = false;
    std::size_t index = 0;    // of the register
    std::uint64_t value = 0;  // else; of an address what is added to the register
  };
  struct Instruction {
    Opcode opcode = Opcode::kReturn;
    Order order = Order::kEq;
    Type type, from;  // `from`: of what is converted
    std::size_t vector = 1;
    bool guarded = false, guarded_by_false = false;
    std::size_t guard = 0;
    std::vector<Operand> operands;  // those of a vector one after the other
    std::string target;
    std::string text;
  };

  void parse(std::string line);
  bool decode(Instruction& instruction, const std::string& name);
  static bool can_calculate(const Instruction& instruction);
  Operand operand(std::string_view text);
  std::size_t register_of(std::string_view name);
  void run_thread(const void* parameters);
  void execute(const Instruction& i, const std::byte* parameters);
  void move(const Instruction& i, const std::byte* parameters);
  std::uint64_t read(const Operand& operand) const;
  std::int64_t read_signed(const Operand& operand, int bits) const;
  std::uint64_t calculate(const Instruction& i) const;
  std::uint64_t calculate_float(const Instruction& i) const;
  std::uint64_t convert(const Instruction& i) const;
  bool compare(const Instruction& i) const;

  std::vector<Instruction> code_;
  std::map<std::string, std::size_t, std::less<>> labels_;
  std::map<std::string, std::size_t, std::less<>> register_indices_;
  std::vector<std::uint64_t> registers_;
  std::string fault_;
};

}  // namespace espalier

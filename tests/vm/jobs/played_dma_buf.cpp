// Stands between a job's library and libibverbs (LD_PRELOAD): registers files of the played driver
// (tests/played_cuda), which are the host's memory, as Soft-RoCE does not register any. So an
// adapter reads and writes memory of the played device, which the processor cannot reach there.
// PLAYED_DMA_BUF=REASON: no file is registered, for that number of errno.h.
#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern "C" ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* domain, std::uint64_t offset, std::size_t bytes,
                                     std::uint64_t address, int file, int access) {
  if (const char* reason = std::getenv("PLAYED_DMA_BUF")) {
    errno = std::atoi(reason);
    return nullptr;
  }
  // The played driver's files stand where their part begins.
  const off_t begin = ::lseek(file, 0, SEEK_CUR) + static_cast<off_t>(offset);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, begin);
  if (memory == MAP_FAILED) return nullptr;
  ibv_mr* const made =
      ibv_reg_mr_iova2(domain, memory, bytes, address, static_cast<unsigned>(access));
  const int why = errno;
  // Registered pages stay; forgotten on purpose where they are not: a test ends.
  if (made == nullptr) ::munmap(memory, bytes);
  errno = why;
  return made;
}

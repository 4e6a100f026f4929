#!/usr/bin/env python3
"""Unpacks a kernel: unpack_kernel.py VMLINUZ VMLINUX.

qemu boots an unpacked ELF kernel directly (PVH); without KVM that saves the guest seconds of
unpacking it by itself.
"""
import lzma
import pathlib
import sys
import zlib

FORMATS = (
    (b"\xfd7zXZ\0", lambda data: lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(data)),
    (b"\x1f\x8b\x08", lambda data: zlib.decompressobj(31).decompress(data)),
)


def unpack(image):
    """The ELF file within a bzImage: the first stream that unpacks to one."""
    for magic, decompress in FORMATS:
        start = image.find(magic)
        while start >= 0:
            try:
                kernel = decompress(image[start:])
            except (lzma.LZMAError, zlib.error):
                kernel = b""
            if kernel.startswith(b"\x7fELF"):
                return kernel
            start = image.find(magic, start + 1)
    sys.exit("unpack_kernel: no ELF kernel found (xz and gzip are known)")


pathlib.Path(sys.argv[2]).write_bytes(unpack(pathlib.Path(sys.argv[1]).read_bytes()))

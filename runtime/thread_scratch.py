"""Memory that each thread has for the tasks that it runs, instead of its stack.

How large a stack is, nobody here decides: a `threading.stack_size` of 256 KB, an `OMP_STACKSIZE` of the
user's. So kernels with much scratch (mlopt-cpu-scratch) ask `ptr mlopt_scratch(i64 bytes, i64 offset)`
for it: the address of byte ``offset`` of the calling thread's memory, which has ``bytes`` at least and
starts on a cache line; null if there is no memory. It is the same from call to call until a kernel needs
more, and freed when the thread ends.
"""

from __future__ import annotations

import ctypes
import os

SYMBOL = "mlopt_scratch"


def function_text() -> str:
    """The function as LLVM IR, with a pthread key of its own: one of it serves all objects of a process.

    OSError if the process has no key left.
    """
    libc = ctypes.CDLL(None)
    key = ctypes.c_uint()
    status = libc.pthread_key_create(ctypes.byref(key), ctypes.cast(libc.free, ctypes.c_void_p))
    if status:
        raise OSError(status, f"pthread_key_create: {os.strerror(status)}")
    return _TEXT.replace("KEY", str(key.value))


# The first cache line holds the number of bytes after it.
_TEXT = """
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)

define ptr @mlopt_scratch(i64 %bytes, i64 %offset) {
  %old = call ptr @pthread_getspecific(i32 KEY)
  %first = icmp eq ptr %old, null
  br i1 %first, label %make, label %look
look:
  %size = load i64, ptr %old
  %fits = icmp uge i64 %size, %bytes
  br i1 %fits, label %found, label %grow
grow:
  %forgotten = call i32 @pthread_setspecific(i32 KEY, ptr null)
  call void @free(ptr %old)
  br label %make
make:
  %all = add i64 %bytes, 64
  %new = call ptr @aligned_alloc(i64 64, i64 %all)
  %none = icmp eq ptr %new, null
  br i1 %none, label %fail, label %keep
keep:
  store i64 %bytes, ptr %new
  %status = call i32 @pthread_setspecific(i32 KEY, ptr %new)
  %kept = icmp eq i32 %status, 0
  br i1 %kept, label %found, label %drop
drop:
  call void @free(ptr %new)
  br label %fail
fail:
  ret ptr null
found:
  %memory = phi ptr [ %old, %look ], [ %new, %keep ]
  %start = getelementptr i8, ptr %memory, i64 64
  %place = getelementptr i8, ptr %start, i64 %offset
  ret ptr %place
}
"""

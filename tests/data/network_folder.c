// Stands in for a network folder, for the files in EPOCHMARK_HOME. NETWORK_FOLDER says what it refuses: "mappings"
// (shared ones), "shm_locks" (locks of SQLite's -shm file) or "locks" (all). LOCK_ERROR is the error of a lock.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int is_refused(int file, const char *what, const char *ending)
{
    char link[64], path[4096];
    const char *home = getenv("EPOCHMARK_HOME"), *kind = getenv("NETWORK_FOLDER");
    if (!home || !kind || strcmp(kind, what) != 0)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    size_t size = strlen(ending);
    return strncmp(path, home, strlen(home)) == 0 && (size_t)length >= size && strcmp(path + length - size, ending) == 0;
}

#define MAP_CALL(name)                                                                                     \
    void *name(void *at, size_t size, int access, int flags, int file, off_t start)                        \
    {                                                                                                      \
        static void *(*real)(void *, size_t, int, int, int, off_t);                                        \
        if (!real)                                                                                         \
            real = dlsym(RTLD_NEXT, #name);                                                                \
        if (file >= 0 && (flags & MAP_SHARED) && is_refused(file, "mappings", "")) {                       \
            errno = ENODEV;                                                                                \
            return MAP_FAILED;                                                                             \
        }                                                                                                  \
        return real(at, size, access, flags, file, start);                                                 \
    }

static int is_lock_refused(int file)
{
    const char *error = getenv("LOCK_ERROR");
    if (!is_refused(file, "locks", "") && !is_refused(file, "shm_locks", "-shm"))
        return 0;
    errno = error ? atoi(error) : ENOLCK;
    return 1;
}

#define LOCK_CALL(name)                                                                                    \
    int name(int file, int command, ...)                                                                   \
    {                                                                                                      \
        static int (*real)(int, int, ...);                                                                 \
        va_list list;                                                                                      \
        va_start(list, command);                                                                           \
        void *value = va_arg(list, void *);                                                                \
        va_end(list);                                                                                      \
        if (!real)                                                                                         \
            real = dlsym(RTLD_NEXT, #name);                                                                \
        if ((command == F_SETLK || command == F_SETLKW || command == F_GETLK) && is_lock_refused(file))    \
            return -1;                                                                                     \
        return real(file, command, value);                                                                 \
    }

MAP_CALL(mmap)
MAP_CALL(mmap64)
LOCK_CALL(fcntl)
LOCK_CALL(fcntl64)

int flock(int file, int operation)
{
    static int (*real)(int, int);
    if (!real)
        real = dlsym(RTLD_NEXT, "flock");
    return is_lock_refused(file) ? -1 : real(file, operation);
}

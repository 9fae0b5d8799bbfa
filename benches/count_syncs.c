/* Counts durable writes: load it with LD_PRELOAD, and each fsync and fdatasync adds one to the
 * eight bytes of the file named by COUNT_SYNCS. Processes that share the file share the count.
 *
 *     cc -O2 -shared -fPIC -o count_syncs.so count_syncs.c -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic unsigned long *counter;

__attribute__((constructor)) static void open_counter(void) {
    const char *path = getenv("COUNT_SYNCS");
    if (path == NULL) {
        return;
    }
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof *counter) != 0) {
        return;
    }
    void *page = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page != MAP_FAILED) {
        counter = page;
    }
}

static int counted(const char *name, int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    if (counter != NULL) {
        atomic_fetch_add(counter, 1);
    }
    return real(file);
}

int fsync(int file) { return counted("fsync", file); }
int fdatasync(int file) { return counted("fdatasync", file); }

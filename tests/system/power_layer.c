/* What a disk keeps: every file under ROOT as it was when it was last synced.
 *
 * Loaded into each process before libc (LD_PRELOAD). The disk is a folder, DISK:
 *
 *   files/<inode>           the content of a file at its last fsync or fdatasync
 *   names/<inode>/<name>    a symbolic link to the inode that a directory has under this name
 *
 * As journaling file systems of Linux do, syncing a file also keeps its name and the directories above it. A rename or
 * removal is kept when its directory is synced; a file that was never synced is there then, and empty.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef char path_t[2 * PATH_MAX];

static void at(path_t to, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(to, sizeof(path_t), format, values);
    va_end(values);
}

/* The inode with its birth, since numbers of removed files are given to new ones. Files are not opened for that: closing
 * one would give up the locks that SQLite has on it. */
static int key_of(const char *path, char key[64]) {
    struct statx found;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &found)) return -1;
    snprintf(key, 64, "%c%llu-%lld-%u", S_ISDIR(found.stx_mode) ? 'd' : 'f', found.stx_ino, found.stx_btime.tv_sec,
             found.stx_btime.tv_nsec);
    return S_ISDIR(found.stx_mode) || S_ISREG(found.stx_mode) ? 0 : -1;
}

static void keep_name(const char *disk, const char *directory, const char *name, const char *key) {
    path_t link, fresh;
    at(link, "%s/names/%s", disk, directory);
    mkdir(link, 0777);
    at(link, "%s/names/%s/%s", disk, directory, name);
    at(fresh, "%s/fresh.%ld", disk, syscall(SYS_gettid));
    unlink(fresh);
    if (!symlink(key, fresh)) rename(fresh, link);
}

static void keep_file(const char *disk, int fd, const char *key) {
    path_t file, fresh;
    char part[1 << 16];
    off_t place = 0;
    ssize_t got;
    at(fresh, "%s/fresh.%ld", disk, syscall(SYS_gettid));
    at(file, "/proc/self/fd/%d", fd);
    int in = pread(fd, part, 1, 0) < 0 ? open(file, O_RDONLY | O_CLOEXEC) : fd;
    int out = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    while ((got = pread(in, part, sizeof part, place)) > 0) place += write(out, part, got);
    if (in != fd) close(in);
    close(out);
    at(file, "%s/files/%s", disk, key);
    rename(fresh, file);
}

static void keep_directory(const char *disk, const char *path, const char *key) {
    path_t name;
    char found[64];
    struct dirent *each;
    DIR *listed = opendir(path);
    if (!listed) return;
    while ((each = readdir(listed))) {
        at(name, "%s/%s", path, each->d_name);
        if (each->d_name[0] == '.' && (!each->d_name[1] || !strcmp(each->d_name, ".."))) continue;
        if (!key_of(name, found)) keep_name(disk, key, each->d_name, found);
    }
    closedir(listed);
    at(name, "%s/names/%s", disk, key);
    mkdir(name, 0777);
    if (!(listed = opendir(name))) return;
    while ((each = readdir(listed))) {
        struct stat gone;
        at(name, "%s/%s", path, each->d_name);
        if (lstat(name, &gone) && errno == ENOENT) {
            at(name, "%s/names/%s/%s", disk, key, each->d_name);
            unlink(name);
        }
    }
    closedir(listed);
}

/* The names of a file and of the directories above it, up to ROOT. */
static void keep_names(const char *disk, const char *root, char *path) {
    char key[64], above[64];
    while (strlen(path) > strlen(root)) {
        char *slash = strrchr(path, '/');
        if (key_of(path, key)) return;
        *slash = 0;
        if (key_of(path, above)) return;
        keep_name(disk, above, slash + 1, key);
    }
}

static int keep(int fd, const char *call) {
    const char *root = getenv("POWER_ROOT"), *disk = getenv("POWER_DISK");
    path_t path, link;
    char key[64];
    at(link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    if (!root || !disk || strncmp(path, root, strlen(root)) || key_of(path, key))
        return ((int (*)(int))dlsym(RTLD_NEXT, call))(fd);
    if (key[0] == 'd') keep_directory(disk, path, key);
    else keep_file(disk, fd, key);
    keep_names(disk, root, path);
    return 0;
}

int fsync(int fd) { return keep(fd, "fsync"); }

int fdatasync(int fd) { return keep(fd, "fdatasync"); }

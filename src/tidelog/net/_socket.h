/* The system calls of the outgoing queue, with one meaning on every platform.
 *
 * Each returns the bytes moved, or -errno. They never raise SIGPIPE and never block on the socket;
 * tl_send_file may block on the disk, which is why tl_resident is asked first. */
#ifndef TIDELOG_NET_SOCKET_H
#define TIDELOG_NET_SOCKET_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/sendfile.h>
#include <sys/syscall.h>
#endif

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif
#ifndef MSG_MORE
#define MSG_MORE 0
#endif

static inline uint32_t tl_be32(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline ssize_t tl_send(int fd, const void *data, size_t size, int more) {
    ssize_t sent;
    do sent = send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

static inline ssize_t tl_sendv(int fd, struct iovec *parts, int count, int more) {
    struct msghdr message;
    ssize_t sent;
    memset(&message, 0, sizeof message);
    message.msg_iov = parts;
    message.msg_iovlen = count;
    do sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

/* Bytes of a file to a socket through user space, for systems and files that know no better. */
static inline ssize_t tl_copy_file(int fd, int file, int64_t position, size_t size) {
    char chunk[65536];
    ssize_t have;
    do have = pread(file, chunk, size < sizeof chunk ? size : sizeof chunk, position);
    while (have < 0 && errno == EINTR);
    if (have <= 0) return have < 0 ? -errno : 0;
    return tl_send(fd, chunk, have, 0);
}

/* Bytes of a file to a socket without passing through user space where the system can do that. Where it cannot (not
 * Linux; a file system or a sandbox without sendfile, which says EINVAL or ENOSYS) they are copied. */
static inline ssize_t tl_send_file(int fd, int file, int64_t position, size_t size) {
#ifdef __linux__
    off_t at = position;
    ssize_t sent;
    do sent = sendfile(fd, file, &at, size);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) return errno == EINVAL || errno == ENOSYS ? tl_copy_file(fd, file, position, size) : -errno;
    if ((size_t)sent < size) {
        /* The kernel corks what it could not complete, for up to 200 ms; setting TCP_NODELAY again pushes it. */
        int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    return sent;
#else
    return tl_copy_file(fd, file, position, size);
#endif
}

/* Whether the range lies in the page cache: 1 yes, 0 no (or not known to).
 * cachestat (Linux 6.5) counts pages; before it, a byte of each 16 KB is read with RWF_NOWAIT, which
 * refuses to wait for the disk. Elsewhere every range counts as resident. */
static inline int tl_resident(int file, int64_t position, size_t size) {
#ifdef __linux__
    struct { uint64_t off, len; } range;
    struct { uint64_t cache, dirty, writeback, evicted, recently_evicted; } stat;
    int64_t first = position & ~(int64_t)4095;
    static int no_cachestat;
    if (!size) return 1;
    range.off = first;
    range.len = (uint64_t)(position + (int64_t)size - first);
    if (!no_cachestat) {
        if (syscall(451, file, &range, &stat, 0) == 0) return stat.cache * 4096 >= range.len;
        if (errno == ENOSYS || errno == EPERM) no_cachestat = 1;
    }
    for (int64_t at = position, end = position + (int64_t)size; at < end; at += 16384) {
        char byte;
        struct iovec one = { &byte, 1 };
        if (preadv2(file, &one, 1, at, RWF_NOWAIT) < 0) return errno != EAGAIN;
    }
    return 1;
#else
    (void)file; (void)position; (void)size;
    return 1;
#endif
}

/* Read the range once, so that it lies in the page cache. Blocks on the disk: for a worker thread. */
static inline int tl_warm(int file, int64_t position, size_t size) {
    char chunk[65536];
    while (size) {
        ssize_t have = pread(file, chunk, size < sizeof chunk ? size : sizeof chunk, position);
        if (have < 0 && errno == EINTR) continue;
        if (have < 0) return -errno;
        if (have == 0) return 0;
        position += have;
        size -= (size_t)have < size ? (size_t)have : size;
    }
    return 0;
}

#endif

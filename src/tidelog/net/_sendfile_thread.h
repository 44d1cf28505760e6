/* A thread that sends one range of a file at a time, without Python: it never waits for the interpreter's lock.
 *
 * The loop gives it a job and is told by one byte in a pipe, the thread's number, that it is done; between
 * the two the job belongs to the thread, before and after it to the loop. The socket is the job's own (a duplicate): a
 * connection that is lost meanwhile cannot make the bytes arrive at whoever gets its descriptor next. */
#ifndef TIDELOG_NET_SENDFILE_THREAD_H
#define TIDELOG_NET_SENDFILE_THREAD_H

#include <pthread.h>
#include <signal.h>

#include "_socket.h"

typedef struct {
    int socket, file;
    int64_t position;
    size_t size;  /* what is asked for */
    size_t moved; /* what was sent: less when the socket is full or the file's bytes are not in the page cache */
    int broken;   /* nothing more can be sent */
} tl_job;

typedef struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int given, leave;
    int bell;
    unsigned char number;
    size_t chunk;
    tl_job job;
} tl_sendfile_thread;

static void tl_send_job(tl_job *job, size_t chunk) {
    while (job->moved < job->size) {
        size_t left = job->size - job->moved, want = left < chunk ? left : chunk;
        int64_t position = job->position + (int64_t)job->moved;
        ssize_t sent;
        if (!tl_resident(job->file, position, want)) return;
        sent = tl_send_file(job->socket, job->file, position, want);
        if (sent == -EAGAIN) return;
        if (sent <= 0) {
            job->broken = 1;
            return;
        }
        job->moved += (size_t)sent;
    }
}

static void *tl_sendfile_thread_run(void *argument) {
    tl_sendfile_thread *it = argument;
    for (;;) {
        pthread_mutex_lock(&it->lock);
        while (!it->given && !it->leave) pthread_cond_wait(&it->wake, &it->lock);
        if (!it->given) {
            pthread_mutex_unlock(&it->lock);
            return NULL;
        }
        it->given = 0;
        pthread_mutex_unlock(&it->lock);
        tl_send_job(&it->job, it->chunk);
        while (write(it->bell, &it->number, 1) < 0 && errno == EINTR) {
        }
    }
}

/* Start the thread; 0, or the error's number. It takes no signals: those are the loop's. */
static int tl_sendfile_thread_start(tl_sendfile_thread *it, int bell, unsigned char number, size_t chunk) {
    sigset_t all, before;
    int code;
    memset(it, 0, sizeof *it);
    it->bell = bell;
    it->number = number;
    it->chunk = chunk;
    pthread_mutex_init(&it->lock, NULL);
    pthread_cond_init(&it->wake, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(&it->thread, NULL, tl_sendfile_thread_run, it);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static void tl_sendfile_thread_give(tl_sendfile_thread *it, int socket, int file, int64_t position, size_t size) {
    tl_job job = {socket, file, position, size, 0, 0};
    it->job = job;
    pthread_mutex_lock(&it->lock);
    it->given = 1;
    pthread_cond_signal(&it->wake);
    pthread_mutex_unlock(&it->lock);
}

/* Let the thread end its job and wait for it. Sending does not block, so this is soon. */
static void tl_sendfile_thread_stop(tl_sendfile_thread *it) {
    pthread_mutex_lock(&it->lock);
    it->leave = 1;
    pthread_cond_signal(&it->wake);
    pthread_mutex_unlock(&it->lock);
    pthread_join(it->thread, NULL);
}

#endif

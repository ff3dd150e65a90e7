#if defined(__linux__)

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CarriagewayCurl.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

// Options that only this file sets: functions, and what goes with them.
enum {
    OPTION_WRITEFUNCTION = 20011,
    OPTION_READFUNCTION = 20012,
    OPTION_HEADERFUNCTION = 20079,
    OPTION_OPENSOCKETFUNCTION = 20163,
    OPTION_OPENSOCKETDATA = 10164,
    OPTION_SEEKFUNCTION = 20167,
    OPTION_CLOSESOCKETFUNCTION = 20208,
    OPTION_CLOSESOCKETDATA = 10209,
    OPTION_PREREQFUNCTION = 20312,
    MULTI_SOCKETFUNCTION = 20001,
    MULTI_SOCKETDATA = 10002,
    MULTI_TIMERFUNCTION = 20004,
    MULTI_TIMERDATA = 10005,
    SHARE_WHAT = 1,
    SHARED_TLS_SESSIONS = 4,
    GLOBAL_DEFAULT = 3,
    MESSAGE_DONE = 1,
    BLOB_COPY = 1,
    OLDEST = 0x074400,
};

// curl_version_info_data as it was first; later fields follow behind it.
typedef struct {
    int age;
    const char *version;
    unsigned int version_number;
    const char *host;
    int features;
} version_info;

// CURLMsg.
typedef struct {
    int message;
    cwcurl_easy *easy;
    union {
        void *whatever;
        int result;
    } data;
} ended_message;

// struct curl_blob.
typedef struct {
    const void *bytes;
    size_t count;
    unsigned int flags;
} blob;

// struct curl_sockaddr, up to what is needed.
typedef struct {
    int family;
    int type;
    int protocol;
} socket_address;

static struct {
    cwcurl_loading loading;
    version_info *info;

    int (*global_init)(long);
    version_info *(*version_info)(int);
    cwcurl_easy *(*easy_init)(void);
    void (*easy_cleanup)(cwcurl_easy *);
    cwcurl_easy *(*easy_duphandle)(cwcurl_easy *);
    int (*easy_setopt)(cwcurl_easy *, int, ...);
    int (*easy_getinfo)(cwcurl_easy *, int, ...);
    int (*easy_pause)(cwcurl_easy *, int);
    const char *(*easy_strerror)(int);
    cwcurl_multi *(*multi_init)(void);
    int (*multi_cleanup)(cwcurl_multi *);
    int (*multi_setopt)(cwcurl_multi *, int, ...);
    int (*multi_add_handle)(cwcurl_multi *, cwcurl_easy *);
    int (*multi_remove_handle)(cwcurl_multi *, cwcurl_easy *);
    int (*multi_socket_action)(cwcurl_multi *, int, int, int *);
    ended_message *(*multi_info_read)(cwcurl_multi *, int *);
    cwcurl_share *(*share_init)(void);
    int (*share_setopt)(cwcurl_share *, int, ...);
    int (*share_cleanup)(cwcurl_share *);
    cwcurl_list *(*slist_append)(cwcurl_list *, const char *);
    void (*slist_free_all)(cwcurl_list *);
} curl;

static bool find(void *library, const char *name, void **function) {
    *function = dlsym(library, name);
    return *function != NULL;
}

static cwcurl_loading load(void) {
    // What Foundation has loaded comes first, so that a process has one libcurl and not two.
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL) library = dlopen("libcurl.so.4", RTLD_NOW);
    // Linked into the program: RTLD_DEFAULT, which is null, finds it there.
    if (library == NULL && dlsym(RTLD_DEFAULT, "curl_multi_socket_action") == NULL) return CWCURL_NOT_FOUND;

    if (!find(library, "curl_version_info", (void **)&curl.version_info)) return CWCURL_INCOMPLETE;
    curl.info = curl.version_info(0);
    if (curl.info == NULL) return CWCURL_INCOMPLETE;
    if (curl.info->version_number < OLDEST) return CWCURL_TOO_OLD;

    bool is_complete = find(library, "curl_global_init", (void **)&curl.global_init)
        && find(library, "curl_easy_init", (void **)&curl.easy_init)
        && find(library, "curl_easy_cleanup", (void **)&curl.easy_cleanup)
        && find(library, "curl_easy_duphandle", (void **)&curl.easy_duphandle)
        && find(library, "curl_easy_setopt", (void **)&curl.easy_setopt)
        && find(library, "curl_easy_getinfo", (void **)&curl.easy_getinfo)
        && find(library, "curl_easy_pause", (void **)&curl.easy_pause)
        && find(library, "curl_easy_strerror", (void **)&curl.easy_strerror)
        && find(library, "curl_multi_init", (void **)&curl.multi_init)
        && find(library, "curl_multi_cleanup", (void **)&curl.multi_cleanup)
        && find(library, "curl_multi_setopt", (void **)&curl.multi_setopt)
        && find(library, "curl_multi_add_handle", (void **)&curl.multi_add_handle)
        && find(library, "curl_multi_remove_handle", (void **)&curl.multi_remove_handle)
        && find(library, "curl_multi_socket_action", (void **)&curl.multi_socket_action)
        && find(library, "curl_multi_info_read", (void **)&curl.multi_info_read)
        && find(library, "curl_share_init", (void **)&curl.share_init)
        && find(library, "curl_share_setopt", (void **)&curl.share_setopt)
        && find(library, "curl_share_cleanup", (void **)&curl.share_cleanup)
        && find(library, "curl_slist_append", (void **)&curl.slist_append)
        && find(library, "curl_slist_free_all", (void **)&curl.slist_free_all);
    if (!is_complete) return CWCURL_INCOMPLETE;
    // Counted by the library: Foundation's own call, before or after, does no harm.
    return curl.global_init(GLOBAL_DEFAULT) == 0 ? CWCURL_LOADED : CWCURL_INCOMPLETE;
}

static void load_once(void) { curl.loading = load(); }

cwcurl_loading cwcurl_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_once);
    return curl.loading;
}

unsigned int cwcurl_version_number(void) { return curl.info ? curl.info->version_number : 0; }
const char *cwcurl_version(void) { return curl.info && curl.info->version ? curl.info->version : ""; }
long cwcurl_features(void) { return curl.info ? curl.info->features : 0; }

// Transfers

cwcurl_easy *cwcurl_easy_make(void) { return curl.easy_init(); }
void cwcurl_easy_free(cwcurl_easy *easy) { curl.easy_cleanup(easy); }
cwcurl_easy *cwcurl_easy_copy(cwcurl_easy *easy) { return curl.easy_duphandle(easy); }

long cwcurl_set_long(cwcurl_easy *easy, long option, long value) { return curl.easy_setopt(easy, (int)option, value); }
long cwcurl_set_int64(cwcurl_easy *easy, long option, int64_t value) { return curl.easy_setopt(easy, (int)option, value); }
long cwcurl_set_text(cwcurl_easy *easy, long option, const char *text) { return curl.easy_setopt(easy, (int)option, text); }
long cwcurl_set_pointer(cwcurl_easy *easy, long option, void *pointer) {
    return curl.easy_setopt(easy, (int)option, pointer);
}
long cwcurl_set_list(cwcurl_easy *easy, long option, cwcurl_list *list) { return curl.easy_setopt(easy, (int)option, list); }
long cwcurl_set_blob(cwcurl_easy *easy, long option, const void *bytes, size_t count) {
    blob copied = {.bytes = bytes, .count = count, .flags = BLOB_COPY};
    return curl.easy_setopt(easy, (int)option, &copied);
}
long cwcurl_set_share(cwcurl_easy *easy, cwcurl_share *share) { return curl.easy_setopt(easy, CWCURL_SHARE, share); }

long cwcurl_set_callbacks(
    cwcurl_easy *easy, cwcurl_bytes_callback head, cwcurl_bytes_callback body, cwcurl_bytes_callback upload,
    cwcurl_seek_callback seek, cwcurl_prerequest_callback prerequest) {
    int code = curl.easy_setopt(easy, OPTION_HEADERFUNCTION, head);
    if (code == 0) code = curl.easy_setopt(easy, OPTION_WRITEFUNCTION, body);
    if (code == 0) code = curl.easy_setopt(easy, OPTION_READFUNCTION, upload);
    if (code == 0) code = curl.easy_setopt(easy, OPTION_SEEKFUNCTION, seek);
    // Good to have, but older versions have it not.
    curl.easy_setopt(easy, OPTION_PREREQFUNCTION, prerequest);
    return code;
}

void cwcurl_set_context(cwcurl_easy *easy, void *context) {
    curl.easy_setopt(easy, CWCURL_PRIVATE, context);
    curl.easy_setopt(easy, CWCURL_HEADERDATA, context);
    curl.easy_setopt(easy, CWCURL_WRITEDATA, context);
    curl.easy_setopt(easy, CWCURL_READDATA, context);
    curl.easy_setopt(easy, CWCURL_SEEKDATA, context);
    curl.easy_setopt(easy, CWCURL_PREREQDATA, context);
}

static int open_socket(void *context, int purpose, socket_address *address) {
    (void)purpose;
    cwcurl_socket_observer *observer = context;
    int descriptor = socket(address->family, address->type | SOCK_CLOEXEC, address->protocol);
    if (descriptor >= 0) observer->opened(observer->context, descriptor);
    return descriptor;
}

static int close_socket(void *context, int descriptor) {
    cwcurl_socket_observer *observer = context;
    observer->closed(observer->context, descriptor);
    return close(descriptor);
}

long cwcurl_set_socket_observer(cwcurl_easy *easy, cwcurl_socket_observer *observer) {
    int code = curl.easy_setopt(easy, OPTION_OPENSOCKETFUNCTION, open_socket);
    if (code == 0) code = curl.easy_setopt(easy, OPTION_OPENSOCKETDATA, observer);
    if (code == 0) code = curl.easy_setopt(easy, OPTION_CLOSESOCKETFUNCTION, close_socket);
    if (code == 0) code = curl.easy_setopt(easy, OPTION_CLOSESOCKETDATA, observer);
    return code;
}

long cwcurl_get_long(cwcurl_easy *easy, long info) {
    long value = 0;
    return curl.easy_getinfo(easy, (int)info, &value) == 0 ? value : 0;
}

int64_t cwcurl_get_int64(cwcurl_easy *easy, long info) {
    int64_t value = 0;
    return curl.easy_getinfo(easy, (int)info, &value) == 0 ? value : 0;
}

const char *cwcurl_get_text(cwcurl_easy *easy, long info) {
    char *text = NULL;
    return curl.easy_getinfo(easy, (int)info, &text) == 0 ? text : NULL;
}

void cwcurl_measure(cwcurl_easy *easy, cwcurl_measured *measured) {
    measured->name_lookup = cwcurl_get_int64(easy, CWCURL_INFO_NAMELOOKUP_TIME);
    measured->connect = cwcurl_get_int64(easy, CWCURL_INFO_CONNECT_TIME);
    measured->tls = cwcurl_get_int64(easy, CWCURL_INFO_APPCONNECT_TIME);
    measured->first_byte = cwcurl_get_int64(easy, CWCURL_INFO_STARTTRANSFER_TIME);
    measured->total = cwcurl_get_int64(easy, CWCURL_INFO_TOTAL_TIME);
    measured->request_sent = cwcurl_get_long(easy, CWCURL_INFO_REQUEST_SIZE);
    measured->head_received = cwcurl_get_long(easy, CWCURL_INFO_HEADER_SIZE);
    measured->body_sent = cwcurl_get_int64(easy, CWCURL_INFO_SIZE_UPLOAD);
    measured->body_received = cwcurl_get_int64(easy, CWCURL_INFO_SIZE_DOWNLOAD);
    measured->connections = cwcurl_get_long(easy, CWCURL_INFO_NUM_CONNECTS);
    measured->http_version = cwcurl_get_long(easy, CWCURL_INFO_HTTP_VERSION);
}

void *cwcurl_get_private(cwcurl_easy *easy) {
    void *pointer = NULL;
    return curl.easy_getinfo(easy, CWCURL_INFO_PRIVATE, &pointer) == 0 ? pointer : NULL;
}

long cwcurl_pause(cwcurl_easy *easy, long bits) { return curl.easy_pause(easy, (int)bits); }
const char *cwcurl_describe(long code) { return curl.easy_strerror((int)code); }

// All transfers of a thread

cwcurl_multi *cwcurl_multi_make(void *context, cwcurl_socket_callback socket, cwcurl_timer_callback timer) {
    cwcurl_multi *multi = curl.multi_init();
    if (multi == NULL) return NULL;
    curl.multi_setopt(multi, MULTI_SOCKETFUNCTION, socket);
    curl.multi_setopt(multi, MULTI_SOCKETDATA, context);
    curl.multi_setopt(multi, MULTI_TIMERFUNCTION, timer);
    curl.multi_setopt(multi, MULTI_TIMERDATA, context);
    return multi;
}

void cwcurl_multi_free(cwcurl_multi *multi) { curl.multi_cleanup(multi); }
long cwcurl_multi_set_long(cwcurl_multi *multi, long option, long value) {
    return curl.multi_setopt(multi, (int)option, value);
}
long cwcurl_multi_add(cwcurl_multi *multi, cwcurl_easy *easy) { return curl.multi_add_handle(multi, easy); }
long cwcurl_multi_remove(cwcurl_multi *multi, cwcurl_easy *easy) { return curl.multi_remove_handle(multi, easy); }

long cwcurl_multi_act(cwcurl_multi *multi, int socket, long events) {
    int running = 0;
    return curl.multi_socket_action(multi, socket, (int)events, &running);
}

cwcurl_easy *cwcurl_multi_next_ended(cwcurl_multi *multi, long *code) {
    int left = 0;
    ended_message *message;
    while ((message = curl.multi_info_read(multi, &left)) != NULL) {
        if (message->message != MESSAGE_DONE) continue;
        *code = message->data.result;
        return message->easy;
    }
    return NULL;
}

cwcurl_share *cwcurl_share_make(void) {
    cwcurl_share *share = curl.share_init();
    if (share != NULL && curl.share_setopt(share, SHARE_WHAT, SHARED_TLS_SESSIONS) != 0) {
        // A library without TLS has nothing to share.
        curl.share_cleanup(share);
        share = NULL;
    }
    return share;
}

void cwcurl_share_free(cwcurl_share *share) { curl.share_cleanup(share); }

void cwcurl_prepare_thread(const char *name) {
    pthread_setname_np(pthread_self(), name);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

// Waiting

int cwcurl_poll_make(void) { return epoll_create1(EPOLL_CLOEXEC); }
int cwcurl_wake_make(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void cwcurl_wake(int descriptor) {
    uint64_t one = 1;
    // It cannot fail but when the sum overflows, and then it is readable anyway.
    ssize_t written = write(descriptor, &one, sizeof one);
    (void)written;
}

long cwcurl_poll_watch_edge(int poll, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {.fd = descriptor}};
    return epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event);
}

long cwcurl_poll_watch(int poll, int socket, long events) {
    struct epoll_event event = {.events = 0, .data = {.fd = socket}};
    if (events & CWCURL_POLL_IN) event.events |= EPOLLIN;
    if (events & CWCURL_POLL_OUT) event.events |= EPOLLOUT;
    if (events == 0) return epoll_ctl(poll, EPOLL_CTL_DEL, socket, &event);
    int result = epoll_ctl(poll, EPOLL_CTL_MOD, socket, &event);
    return result != 0 && errno == ENOENT ? epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event) : result;
}

long cwcurl_poll_wait(int poll, cwcurl_ready *ready, long capacity, long milliseconds) {
    enum { most = 256 };
    struct epoll_event events[most];
    int count = epoll_wait(poll, events, capacity < most ? (int)capacity : most, (int)milliseconds);
    for (int index = 0; index < count; index++) {
        uint32_t flags = events[index].events;
        ready[index].socket = events[index].data.fd;
        ready[index].events = 0;
        if (flags & (EPOLLIN | EPOLLERR | EPOLLHUP)) ready[index].events |= CWCURL_SELECT_IN;
        if (flags & (EPOLLOUT | EPOLLERR | EPOLLHUP)) ready[index].events |= CWCURL_SELECT_OUT;
        if (flags & EPOLLERR) ready[index].events |= CWCURL_SELECT_ERROR;
    }
    return count;
}

cwcurl_list *cwcurl_list_append(cwcurl_list *list, const char *text) {
    cwcurl_list *longer = strpbrk(text, "\r\n") == NULL ? curl.slist_append(list, text) : NULL;
    if (longer == NULL && list != NULL) curl.slist_free_all(list);
    return longer;
}

void cwcurl_list_free(cwcurl_list *list) { curl.slist_free_all(list); }

#endif

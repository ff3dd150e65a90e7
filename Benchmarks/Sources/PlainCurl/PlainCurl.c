#include "PlainCurl.h"

#if defined(__linux__) && __has_include(<curl/curl.h>)

#include <curl/curl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Found at run time, as Foundation has loaded the library already: nothing is linked.
#define CALL(name) ((__typeof__(&name))dlsym(library, #name))

typedef struct {
    CURL *handle;
    size_t received;
    uint64_t started;
} transfer;

static size_t count_bytes(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    ((transfer *)context)->received += size * count;
    return size * count;
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

long plain_curl_run(
    const char *url, const char *body, const char *authority, int is_multiplexed, long count, long width,
    uint64_t *nanoseconds) {
    static void *library;
    static CURLM *multi;
    if (library == NULL) library = dlopen("libcurl.so.4", RTLD_NOW);
    if (library == NULL) return -1;
    __typeof__(&curl_easy_setopt) set = CALL(curl_easy_setopt);
    __typeof__(&curl_multi_add_handle) add = CALL(curl_multi_add_handle);
    __typeof__(&curl_multi_remove_handle) remove_handle = CALL(curl_multi_remove_handle);
    __typeof__(&curl_multi_perform) perform = CALL(curl_multi_perform);
    __typeof__(&curl_multi_poll) poll = CALL(curl_multi_poll);
    __typeof__(&curl_multi_info_read) next = CALL(curl_multi_info_read);
    __typeof__(&curl_easy_getinfo) get = CALL(curl_easy_getinfo);
    // Kept, with its connections, from the warm-up to the measurement.
    if (multi == NULL) multi = CALL(curl_multi_init)();

    // What ours sends with a body, and no waiting for a word of the server's.
    struct curl_slist *headers = CALL(curl_slist_append)(NULL, "Content-Type: text/plain");
    headers = CALL(curl_slist_append)(headers, "Expect:");
    transfer *transfers = calloc((size_t)width, sizeof *transfers);
    long started = 0, ended = 0, failed = 0;
    for (long index = 0; index < width; index++) {
        CURL *handle = transfers[index].handle = CALL(curl_easy_init)();
        set(handle, CURLOPT_URL, url);
        set(handle, CURLOPT_NOSIGNAL, 1L);
        set(handle, CURLOPT_WRITEFUNCTION, count_bytes);
        set(handle, CURLOPT_WRITEDATA, &transfers[index]);
        set(handle, CURLOPT_PRIVATE, &transfers[index]);
        if (authority != NULL) {
            set(handle, CURLOPT_CAINFO, authority);
            set(handle, CURLOPT_CAPATH, NULL);
        }
        if (is_multiplexed) set(handle, CURLOPT_PIPEWAIT, 1L);
        if (body != NULL) {
            set(handle, CURLOPT_POSTFIELDS, body);
            set(handle, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
            set(handle, CURLOPT_HTTPHEADER, headers);
        }
        if (started++ < count) {
            transfers[index].started = now();
            add(multi, handle);
        }
    }
    while (ended < count) {
        int running = 0, left = 0;
        perform(multi, &running);
        CURLMsg *message;
        while ((message = next(multi, &left)) != NULL) {
            CURL *handle = message->easy_handle;
            transfer *own = NULL;
            long status = 0;
            get(handle, CURLINFO_PRIVATE, &own);
            get(handle, CURLINFO_RESPONSE_CODE, &status);
            if (message->data.result != CURLE_OK || own->received == 0 || status != 200) failed++;
            own->received = 0;
            uint64_t present = now();
            nanoseconds[ended++] = present - own->started;
            remove_handle(multi, handle);
            if (started++ < count) {
                own->started = present;
                add(multi, handle);
            }
        }
        if (ended < count) poll(multi, NULL, 0, 1000, NULL);
    }
    for (long index = 0; index < width; index++) CALL(curl_easy_cleanup)(transfers[index].handle);
    CALL(curl_slist_free_all)(headers);
    free(transfers);
    return failed;
}

#else

long plain_curl_run(
    const char *url, const char *body, const char *authority, int is_multiplexed, long count, long width,
    uint64_t *nanoseconds) {
    (void)url, (void)body, (void)authority, (void)is_multiplexed, (void)count, (void)width, (void)nanoseconds;
    return -1;
}

#endif

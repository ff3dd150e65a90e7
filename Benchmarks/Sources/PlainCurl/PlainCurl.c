#include "PlainCurl.h"

#if defined(__linux__) && __has_include(<curl/curl.h>)

#include <curl/curl.h>
#include <dlfcn.h>
#include <stdlib.h>

// Found at run time, as Foundation has loaded the library already: nothing is linked.
#define CALL(name) ((__typeof__(&name))dlsym(library, #name))

static size_t count_bytes(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    *(size_t *)context += size * count;
    return size * count;
}

long plain_curl_run(const char *url, long count, long width) {
    static void *library;
    static CURLM *multi;
    if (library == NULL) library = dlopen("libcurl.so.4", RTLD_NOW);
    if (library == NULL) return -1;
    __typeof__(&curl_multi_add_handle) add = CALL(curl_multi_add_handle);
    __typeof__(&curl_multi_remove_handle) remove_handle = CALL(curl_multi_remove_handle);
    __typeof__(&curl_multi_perform) perform = CALL(curl_multi_perform);
    __typeof__(&curl_multi_poll) poll = CALL(curl_multi_poll);
    __typeof__(&curl_multi_info_read) next = CALL(curl_multi_info_read);
    // Kept, with its connections, from the warm-up to the measurement.
    if (multi == NULL) multi = CALL(curl_multi_init)();

    size_t *received = calloc((size_t)width, sizeof *received);
    CURL **handles = calloc((size_t)width, sizeof *handles);
    long started = 0, ended = 0, failed = 0;
    for (long index = 0; index < width; index++) {
        handles[index] = CALL(curl_easy_init)();
        CALL(curl_easy_setopt)(handles[index], CURLOPT_URL, url);
        CALL(curl_easy_setopt)(handles[index], CURLOPT_NOSIGNAL, 1L);
        CALL(curl_easy_setopt)(handles[index], CURLOPT_WRITEFUNCTION, count_bytes);
        CALL(curl_easy_setopt)(handles[index], CURLOPT_WRITEDATA, &received[index]);
        CALL(curl_easy_setopt)(handles[index], CURLOPT_PRIVATE, &received[index]);
        if (started++ < count) add(multi, handles[index]);
    }
    while (ended < count) {
        int running = 0, left = 0;
        perform(multi, &running);
        CURLMsg *message;
        while ((message = next(multi, &left)) != NULL) {
            CURL *handle = message->easy_handle;
            size_t *bytes = NULL;
            CALL(curl_easy_getinfo)(handle, CURLINFO_PRIVATE, &bytes);
            if (message->data.result != CURLE_OK || *bytes == 0) failed++;
            *bytes = 0;
            ended++;
            remove_handle(multi, handle);
            if (started++ < count) add(multi, handle);
        }
        if (ended < count) poll(multi, NULL, 0, 1000, NULL);
    }
    for (long index = 0; index < width; index++) CALL(curl_easy_cleanup)(handles[index]);
    free(handles);
    free(received);
    return failed;
}

#else

long plain_curl_run(const char *url, long count, long width) {
    (void)url, (void)count, (void)width;
    return -1;
}

#endif

#ifndef PLAIN_CURL_H
#define PLAIN_CURL_H

#include <stdint.h>

// libcurl's multi interface in a loop of C: the least that an HTTP client can cost.

// Sends `count` requests, `width` at a time; how many failed, or -1 where libcurl's headers were not there to build it.
//
// With a body they are POST, else GET. The authority is a file in PEM for a server with TLS, NULL for the system's; over a
// server that speaks HTTP/2 the requests share a connection if `is_multiplexed`. How long each took, from its start to its
// end, is put into `nanoseconds`, which has room for `count`, in the order of their ends.
long plain_curl_run(
    const char *url, const char *body, const char *authority, int is_multiplexed, long count, long width,
    uint64_t *nanoseconds);

#endif

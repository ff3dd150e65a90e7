#ifndef PLAIN_CURL_H
#define PLAIN_CURL_H

// libcurl's multi interface in a loop of C: the least that an HTTP client can cost.

// Sends `count` GET requests, `width` at a time; how many failed, or -1 where libcurl's headers were not there to build it.
long plain_curl_run(const char *url, long count, long width);

#endif

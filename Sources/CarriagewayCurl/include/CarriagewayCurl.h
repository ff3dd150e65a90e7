#ifndef CARRIAGEWAY_CURL_H
#define CARRIAGEWAY_CURL_H

// The part of libcurl that Carriageway uses, found at run time: building needs neither curl's headers nor its library.
//
// Names and numbers are those of libcurl's documented binary interface, which has been the same since version 7.16 and
// only grows (https://curl.se/libcurl/abi.html). Each number below is `type base + number` as documented for the option
// of that name: base 0 for long, 10000 for pointers, 20000 for functions, 30000 for 64-bit numbers, 40000 for blobs.

#if defined(__linux__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cwcurl_easy cwcurl_easy;
typedef struct cwcurl_multi cwcurl_multi;
typedef struct cwcurl_share cwcurl_share;
typedef struct cwcurl_list cwcurl_list;

// Options of a transfer (curl_easy_setopt).
enum {
    CWCURL_PORT = 3,
    CWCURL_TIMEOUT_MS = 155,
    CWCURL_CONNECTTIMEOUT_MS = 156,
    CWCURL_SSLVERSION = 32,
    CWCURL_NOPROGRESS = 43,
    CWCURL_HEADER = 42,
    CWCURL_NOBODY = 44,
    CWCURL_UPLOAD = 46,
    CWCURL_POST = 47,
    CWCURL_FOLLOWLOCATION = 52,
    CWCURL_PROXYPORT = 59,
    CWCURL_SSL_VERIFYPEER = 64,
    CWCURL_FRESH_CONNECT = 74,
    CWCURL_HTTPGET = 80,
    CWCURL_SSL_VERIFYHOST = 81,
    CWCURL_HTTP_VERSION = 84,
    CWCURL_BUFFERSIZE = 98,
    CWCURL_NOSIGNAL = 99,
    CWCURL_PROXYTYPE = 101,
    CWCURL_PROTOCOLS = 181,
    CWCURL_REDIR_PROTOCOLS = 182,
    CWCURL_PATH_AS_IS = 234,
    CWCURL_PIPEWAIT = 237,
    CWCURL_SUPPRESS_CONNECT_HEADERS = 265,
    CWCURL_UPLOAD_BUFFERSIZE = 280,
    CWCURL_MAXAGE_CONN = 288,
    CWCURL_QUICK_EXIT = 322,

    CWCURL_WRITEDATA = 10001,
    CWCURL_URL = 10002,
    CWCURL_PROXY = 10004,
    CWCURL_READDATA = 10009,
    CWCURL_ERRORBUFFER = 10010,
    CWCURL_USERAGENT = 10018,
    CWCURL_HTTPHEADER = 10023,
    CWCURL_SSLCERT = 10025,
    CWCURL_KEYPASSWD = 10026,
    CWCURL_HEADERDATA = 10029,
    CWCURL_CUSTOMREQUEST = 10036,
    CWCURL_CAINFO = 10065,
    CWCURL_SSLCERTTYPE = 10086,
    CWCURL_SSLKEY = 10087,
    CWCURL_SSLKEYTYPE = 10088,
    CWCURL_CAPATH = 10097,
    CWCURL_SHARE = 10100,
    CWCURL_ACCEPT_ENCODING = 10102,
    CWCURL_PRIVATE = 10103,
    CWCURL_COPYPOSTFIELDS = 10165,
    CWCURL_SEEKDATA = 10168,
    CWCURL_NOPROXY = 10177,
    CWCURL_PINNEDPUBLICKEY = 10230,
    CWCURL_UNIX_SOCKET_PATH = 10231,
    CWCURL_PREREQDATA = 10313,

    CWCURL_INFILESIZE_LARGE = 30115,
    CWCURL_POSTFIELDSIZE_LARGE = 30120,

    CWCURL_CAINFO_BLOB = 40309,
};

// Options of all transfers together (curl_multi_setopt).
enum {
    CWCURL_MULTI_MAXCONNECTS = 6,
};

// What can be asked of a transfer (curl_easy_getinfo): type 0x200000 is long, 0x100000 text, 0x600000 64-bit number.
enum {
    CWCURL_INFO_OS_ERRNO = 0x200000 + 25,
    CWCURL_INFO_NUM_CONNECTS = 0x200000 + 26,
    CWCURL_INFO_SSL_VERIFYRESULT = 0x200000 + 13,
    CWCURL_INFO_HEADER_SIZE = 0x200000 + 11,
    CWCURL_INFO_REQUEST_SIZE = 0x200000 + 12,
    CWCURL_INFO_HTTP_VERSION = 0x200000 + 46,
    CWCURL_INFO_PRIVATE = 0x100000 + 21,
    CWCURL_INFO_PRIMARY_IP = 0x100000 + 32,
    CWCURL_INFO_CAINFO = 0x100000 + 61,
    CWCURL_INFO_SIZE_UPLOAD = 0x600000 + 7,
    CWCURL_INFO_SIZE_DOWNLOAD = 0x600000 + 8,
    CWCURL_INFO_TOTAL_TIME = 0x600000 + 50,
    CWCURL_INFO_NAMELOOKUP_TIME = 0x600000 + 51,
    CWCURL_INFO_CONNECT_TIME = 0x600000 + 52,
    CWCURL_INFO_PRETRANSFER_TIME = 0x600000 + 53,
    CWCURL_INFO_STARTTRANSFER_TIME = 0x600000 + 54,
    CWCURL_INFO_APPCONNECT_TIME = 0x600000 + 56,
};

// Answers of callbacks, and sets of bits.
enum {
    CWCURL_WRITE_PAUSE = 0x10000001,
    CWCURL_READ_ABORT = 0x10000000,
    CWCURL_READ_PAUSE = 0x10000001,
    CWCURL_SEEK_OK = 0,
    CWCURL_SEEK_FAIL = 1,
    CWCURL_PREREQ_OK = 0,
    CWCURL_PREREQ_ABORT = 1,

    CWCURL_PAUSE_RECEIVING = 1,
    CWCURL_PAUSE_SENDING = 4,

    CWCURL_POLL_IN = 1,
    CWCURL_POLL_OUT = 2,
    CWCURL_POLL_REMOVE = 4,

    CWCURL_SELECT_IN = 1,
    CWCURL_SELECT_OUT = 2,
    CWCURL_SELECT_ERROR = 4,
    CWCURL_SOCKET_TIMEOUT = -1,

    CWCURL_PROTOCOL_HTTP = 1,
    CWCURL_PROTOCOL_HTTPS = 2,

    CWCURL_TLS_1_2 = 6,
    CWCURL_TLS_1_3 = 7,

    CWCURL_HTTP_1_0 = 1,
    CWCURL_HTTP_1_1 = 2,
    CWCURL_HTTP_2_0 = 3,
    CWCURL_HTTP_2_OVER_TLS = 4,
    CWCURL_HTTP_3 = 30,

    CWCURL_FEATURE_IPV6 = 1 << 0,
    CWCURL_FEATURE_TLS = 1 << 2,
    CWCURL_FEATURE_HTTP2 = 1 << 16,
    CWCURL_FEATURE_UNIX_SOCKETS = 1 << 19,
};

// Results (CURLcode) that are told apart.
enum {
    CWCURL_OK = 0,
    CWCURL_UNSUPPORTED_PROTOCOL = 1,
    CWCURL_URL_MALFORMAT = 3,
    CWCURL_COULDNT_RESOLVE_PROXY = 5,
    CWCURL_COULDNT_RESOLVE_HOST = 6,
    CWCURL_COULDNT_CONNECT = 7,
    CWCURL_WEIRD_SERVER_REPLY = 8,
    CWCURL_HTTP2 = 16,
    CWCURL_PARTIAL_FILE = 18,
    CWCURL_WRITE_ERROR = 23,
    CWCURL_READ_ERROR = 26,
    CWCURL_OUT_OF_MEMORY = 27,
    CWCURL_OPERATION_TIMEDOUT = 28,
    CWCURL_SSL_CONNECT_ERROR = 35,
    CWCURL_ABORTED_BY_CALLBACK = 42,
    CWCURL_BAD_ARGUMENT = 43,
    CWCURL_GOT_NOTHING = 52,
    CWCURL_SSL_ENGINE_NOTFOUND = 53,
    CWCURL_SEND_ERROR = 55,
    CWCURL_RECV_ERROR = 56,
    CWCURL_SSL_CERTPROBLEM = 58,
    CWCURL_SSL_CIPHER = 59,
    CWCURL_PEER_FAILED_VERIFICATION = 60,
    CWCURL_BAD_CONTENT_ENCODING = 61,
    CWCURL_SEND_FAIL_REWIND = 65,
    CWCURL_SSL_CACERT_BADFILE = 77,
    CWCURL_SSL_SHUTDOWN_FAILED = 80,
    CWCURL_SSL_CRL_BADFILE = 82,
    CWCURL_SSL_ISSUER_ERROR = 83,
    CWCURL_SSL_PINNEDPUBKEYNOTMATCH = 90,
    CWCURL_SSL_INVALIDCERTSTATUS = 91,
    CWCURL_HTTP2_STREAM = 92,
    CWCURL_HTTP3 = 95,
    CWCURL_PROXY_ERROR = 97,
    CWCURL_SSL_CLIENTCERT = 98,
    CWCURL_TOO_LARGE = 100,
};

typedef enum {
    CWCURL_LOADED = 0,
    CWCURL_NOT_FOUND = 1,
    CWCURL_TOO_OLD = 2,
    CWCURL_INCOMPLETE = 3,
} cwcurl_loading;

// Finds the library, once; the other functions may be called when the answer was CWCURL_LOADED.
cwcurl_loading cwcurl_load(void);

// Known also when the library is too old. 0 and an empty text if there is none.
unsigned int cwcurl_version_number(void);
const char *cwcurl_version(void);
long cwcurl_features(void);

typedef size_t (*cwcurl_bytes_callback)(char *bytes, size_t size, size_t count, void *context);
typedef int (*cwcurl_seek_callback)(void *context, int64_t offset, int origin);
typedef int (*cwcurl_prerequest_callback)(
    void *context, char *address, char *local_address, int port, int local_port);
typedef int (*cwcurl_socket_callback)(cwcurl_easy *easy, int socket, int what, void *context, void *unused);
typedef int (*cwcurl_timer_callback)(cwcurl_multi *multi, long milliseconds, void *context);
typedef void (*cwcurl_descriptor_callback)(void *context, int socket);

// Who is told of sockets that libcurl opens and closes for connections. It must outlive those.
typedef struct {
    void *context;
    cwcurl_descriptor_callback opened;
    cwcurl_descriptor_callback closed;
} cwcurl_socket_observer;

cwcurl_easy *cwcurl_easy_make(void);
void cwcurl_easy_free(cwcurl_easy *easy);
// One with the same settings, but for its share; null if there is no memory for it.
cwcurl_easy *cwcurl_easy_copy(cwcurl_easy *easy);

long cwcurl_set_long(cwcurl_easy *easy, long option, long value);
long cwcurl_set_int64(cwcurl_easy *easy, long option, int64_t value);
long cwcurl_set_text(cwcurl_easy *easy, long option, const char *text);
long cwcurl_set_pointer(cwcurl_easy *easy, long option, void *pointer);
long cwcurl_set_list(cwcurl_easy *easy, long option, cwcurl_list *list);
// Bytes that libcurl copies.
long cwcurl_set_blob(cwcurl_easy *easy, long option, const void *bytes, size_t count);
long cwcurl_set_share(cwcurl_easy *easy, cwcurl_share *share);
// The callbacks of a transfer. The prerequest is called before each sending of the request, also when libcurl sends it again;
// never before version 7.80.
long cwcurl_set_callbacks(
    cwcurl_easy *easy, cwcurl_bytes_callback head, cwcurl_bytes_callback body, cwcurl_bytes_callback upload,
    cwcurl_seek_callback seek, cwcurl_prerequest_callback prerequest);
// What they are called with.
void cwcurl_set_context(cwcurl_easy *easy, void *context);
long cwcurl_set_socket_observer(cwcurl_easy *easy, cwcurl_socket_observer *observer);

long cwcurl_get_long(cwcurl_easy *easy, long info);
int64_t cwcurl_get_int64(cwcurl_easy *easy, long info);
const char *cwcurl_get_text(cwcurl_easy *easy, long info);

// What was measured of the last transfer. Times are in microseconds from its beginning.
typedef struct {
    int64_t name_lookup;
    int64_t connect;
    int64_t tls;
    int64_t first_byte;
    int64_t total;
    long request_sent;
    long head_received;
    int64_t body_sent;
    int64_t body_received;
    // How many were made for it.
    long connections;
    long http_version;
} cwcurl_measured;

void cwcurl_measure(cwcurl_easy *easy, cwcurl_measured *measured);
void *cwcurl_get_private(cwcurl_easy *easy);
long cwcurl_pause(cwcurl_easy *easy, long bits);
const char *cwcurl_describe(long code);

cwcurl_multi *cwcurl_multi_make(void *context, cwcurl_socket_callback socket, cwcurl_timer_callback timer);
void cwcurl_multi_free(cwcurl_multi *multi);
long cwcurl_multi_set_long(cwcurl_multi *multi, long option, long value);
long cwcurl_multi_add(cwcurl_multi *multi, cwcurl_easy *easy);
long cwcurl_multi_remove(cwcurl_multi *multi, cwcurl_easy *easy);
long cwcurl_multi_act(cwcurl_multi *multi, int socket, long events);
// The next transfer that has ended, with its result; null if there is none.
cwcurl_easy *cwcurl_multi_next_ended(cwcurl_multi *multi, long *code);

// TLS sessions, shared by the transfers of one thread.
cwcurl_share *cwcurl_share_make(void);
void cwcurl_share_free(cwcurl_share *share);

// Names the thread, and keeps SIGPIPE from it: a write to a connection that the peer has closed is to fail and not to end
// the process, which older versions of libcurl leave to the program where NOSIGNAL is set.
void cwcurl_prepare_thread(const char *name);

// Waiting for sockets: epoll(7) and eventfd(2), which Swift's Glibc module leaves out. All give -1, and errno, on failure.

int cwcurl_poll_make(void);
// A descriptor that becomes readable by cwcurl_wake; to be watched for the edge, so that nobody has to read from it.
int cwcurl_wake_make(void);
void cwcurl_wake(int descriptor);
long cwcurl_poll_watch_edge(int poll, int descriptor);
// Watches a socket for CWCURL_POLL_IN, CWCURL_POLL_OUT or both; 0 watches it no longer.
long cwcurl_poll_watch(int poll, int socket, long events);

typedef struct {
    int socket;
    // Of CWCURL_SELECT_IN, CWCURL_SELECT_OUT, CWCURL_SELECT_ERROR; a connection that has gone is readable and writable.
    long events;
} cwcurl_ready;

// Waits for so many milliseconds, without limit if they are negative; how many sockets are ready, at most `capacity`.
long cwcurl_poll_wait(int poll, cwcurl_ready *ready, long capacity, long milliseconds);

// Appends a line; null, with the list freed, if there is no memory, or the text has a line end in it.
cwcurl_list *cwcurl_list_append(cwcurl_list *list, const char *text);
void cwcurl_list_free(cwcurl_list *list);

#endif
#endif

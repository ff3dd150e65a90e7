/// The fixed texts of the command.
enum Help {
    static let version = "0.1.0"

    static let text = """
        carriageway                    shows how requests run, in a story with times
        carriageway [options] URL...   fetches URLs

        Options:
          --concurrency N         requests on the wire at once (8)
          --per-host N            of these to one host (6)
          --retries N             tries again after transient failures, at most N times (3)
          --timeout SECONDS       time for each URL, its retries and waits included; fractions
                                  are allowed (no limit; a transfer that is idle for 60 s fails)
          --header 'Name: value'  a header field for every request; can be repeated
          --output DIR            writes the bodies into DIR, under names made from the URLs
          --json                  prints one JSON object a line for each URL, and a summary
          --help                  prints this
          --version               prints the version
          --                      ends the options

        A bearer token for the URLs, fetched and renewed as needed (OAuth 2):
          --token-url URL             where tokens are asked for; needs --client-id
          --client-id ID              the client's name there
          --client-secret-file FILE   holds the client's secret
          --refresh-token-file FILE   holds the refresh token; a new one replaces it there, in one
                                      step, readable to its owner only
          --client-secret SECRET      the secret itself; others on this machine can see it
          --refresh-token TOKEN       the same for the refresh token; a new one is not kept
          --scope SCOPE               what to ask for; can be repeated

        CARRIAGEWAY_CLIENT_SECRET and CARRIAGEWAY_REFRESH_TOKEN in the environment serve as well.
        Without a refresh token the client asks in its own name. The token goes to the hosts and
        ports of the URLs, not along with a redirect to another one.

        Without --output the bodies are discarded. A line is printed for each URL as it ends:
        status, bytes, attempts, time, URL. Ctrl-C cancels what runs and says what was not fetched.

        Exit status: 0 all URLs were fetched, 1 some were not, 64 wrong arguments,
        130 after Ctrl-C, 143 after SIGTERM.
        """
}

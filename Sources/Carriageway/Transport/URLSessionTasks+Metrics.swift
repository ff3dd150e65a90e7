// Foundation on Linux never tells what it has measured. This file is compiled and run on Apple's systems only.
#if !canImport(FoundationNetworking)
    import Foundation

    extension URLSessionTasks {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            // One for each request and each answer from a cache; a task of ours follows no redirect.
            guard let last = metrics.transactionMetrics.last else { return }
            records.withLock { $0[identifier(of: task)]?.metrics = TransferMetrics(last) }
        }
    }

    extension TransferMetrics {
        init?(_ measured: URLSessionTaskTransactionMetrics) {
            guard let start = measured.fetchStartDate, let end = measured.responseEndDate else { return nil }
            func time(_ date: Date?) -> Int64 {
                guard let date else { return 0 }
                return Int64(max(date.timeIntervalSince(start), 0) * 1e6)
            }
            // What ends with TLS begins with it.
            let connected = measured.secureConnectionStartDate ?? measured.connectEndDate
            self.init(
                times: Times(
                    nameLookedUp: time(measured.domainLookupEndDate), connected: time(connected),
                    secured: time(measured.secureConnectionEndDate), firstByte: time(measured.responseStartDate),
                    total: time(end)),
                bodyBytesSent: measured.countOfRequestBodyBytesSent,
                headerBytesReceived: measured.countOfResponseHeaderBytesReceived,
                bodyBytesReceived: measured.countOfResponseBodyBytesReceived,
                isReusedConnection: measured.isReusedConnection, networkProtocolName: measured.networkProtocolName)
        }
    }
#endif

import Foundation

/// What this process has used so far.
struct Usage {
    /// CPU time of user and system together, in seconds.
    let cpu: Double
    private let instant: ContinuousClock.Instant

    static var now: Usage {
        var usage = rusage()
        #if canImport(Glibc)
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
            getrusage(RUSAGE_SELF, &usage)
        #endif
        return Usage(cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime), instant: .now)
    }

    /// As many open files as the system allows.
    static func raiseFileLimit() {
        var limit = rlimit()
        #if canImport(Glibc)
            let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let files = RLIMIT_NOFILE
        #endif
        guard getrlimit(files, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(files, &limit)
    }

    /// CPU and wall time since then, in seconds.
    var elapsed: (cpu: Double, wall: Double) {
        let now = Usage.now
        let wall = (now.instant - instant).components
        return (now.cpu - cpu, Double(wall.seconds) + Double(wall.attoseconds) / 1e18)
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }
}

/// The memory of this process, in bytes.
enum Memory {
    #if os(Linux)
        static var resident: Double { status("VmRSS:") }

        /// Not `ru_maxrss`: that begins with what the parent had when it made this process.
        static var peak: Double { status("VmHWM:") }

        private static func status(_ name: String) -> Double {
            let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
            let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
            let value = line?.dropFirst(name.count).split(whereSeparator: \.isWhitespace).first.flatMap { Double($0) }
            return (value ?? .nan) * 1024
        }
    #else
        static var resident: Double { taskInfo.map { Double($0.resident_size) } ?? .nan }

        static var peak: Double { taskInfo.map { Double($0.resident_size_max) } ?? .nan }

        private static var taskInfo: mach_task_basic_info? {
            var info = mach_task_basic_info()
            var count = mach_msg_type_number_t(MemoryLayout.size(ofValue: info) / MemoryLayout<integer_t>.size)
            let size = Int(count)
            let status = withUnsafeMutablePointer(to: &info) { pointer in
                pointer.withMemoryRebound(to: integer_t.self, capacity: size) {
                    task_info(mach_task_self_, task_flavor_t(MACH_TASK_BASIC_INFO), $0, &count)
                }
            }
            return status == KERN_SUCCESS ? info : nil
        }
    #endif
}

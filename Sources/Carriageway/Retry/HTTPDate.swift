import Foundation

/// The three forms of a date in HTTP (RFC 9110, section 5.6.7).
///
/// Not by `DateFormatter`: on Linux it leaks 128 bytes for every text that is no date, and a server can send many.
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()

    /// The date, if the text is one; `now` is what a year of two digits is read against.
    static func parse(_ text: String, now: Date = Date()) -> Date? {
        let parts = text.split(separator: " ").map(String.init)
        switch parts.count {
        // Sun, 06 Nov 1994 08:49:37 GMT
        case 6 where parts[0].hasSuffix(",") && parts[5] == "GMT":
            return date(day: parts[1], month: parts[2], year: number(parts[3], digits: 4), time: parts[4])
        // Sunday, 06-Nov-94 08:49:37 GMT
        case 4 where parts[0].hasSuffix(",") && parts[3] == "GMT":
            let day = parts[1].split(separator: "-").map(String.init)
            guard day.count == 3 else { return nil }
            return date(day: day[0], month: day[1], year: year(ofTwoDigits: day[2], now: now), time: parts[2])
        // Sun Nov  6 08:49:37 1994
        case 5:
            return date(day: parts[2], month: parts[1], year: number(parts[4], digits: 4), time: parts[3])
        default:
            return nil
        }
    }

    private static func date(day: String, month: String, year: Int?, time: String) -> Date? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { number(String($0), digits: 2) }
        guard let day = number(day, digits: day.utf8.count == 1 ? 1 : 2), let month = months.firstIndex(of: month),
            let year, year > 0, clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
            hour < 24, minute < 60, second <= 60
        else { return nil }
        // A leap second is the last that a clock without them knows.
        let parts = DateComponents(
            year: year, month: month + 1, day: day, hour: hour, minute: minute, second: min(second, 59))
        guard (1...31).contains(day), let date = calendar.date(from: parts),
            calendar.component(.day, from: date) == day
        else { return nil }
        return date
    }

    /// The year that ends in these digits and is not more than fifty years ahead.
    private static func year(ofTwoDigits text: String, now: Date) -> Int? {
        guard let digits = number(text, digits: 2) else { return nil }
        let latest = calendar.component(.year, from: now) + 50
        return latest - (latest - digits) % 100
    }

    /// The number, if the text is so many digits and nothing else.
    private static func number(_ text: String, digits: Int) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }
}

@testable import CarriagewayCommand

/// What is wrong with a command line; nil if nothing is.
func usageFault(_ words: [String]) -> String? {
    do throws(UsageError) {
        _ = try Arguments.parse(words)
        return nil
    } catch {
        return error.text
    }
}

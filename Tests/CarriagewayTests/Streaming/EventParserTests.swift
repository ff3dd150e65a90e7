import Foundation
import Testing

@testable import Carriageway

/// The examples and rules of WHATWG HTML, section 9.2.6.
struct EventParserTests {
    private func events(_ text: String, parser: inout EventParser) -> [ServerSentEvent] {
        var splitter = LineSplitter()
        return splitter.add(Data(text.utf8)).compactMap { parser.add($0) }
    }

    private func events(_ text: String) -> [ServerSentEvent] {
        var parser = EventParser()
        return events(text, parser: &parser)
    }

    @Test("lines of data are joined; what is not ended by an empty line is no event")
    func data() {
        #expect(events("data: YHOO\ndata: +2\ndata: 10\n\n") == [ServerSentEvent(data: "YHOO\n+2\n10")])
        #expect(events("data: cut off\n") == [])
        #expect(events("data\n\ndata\ndata\n\ndata:") == [ServerSentEvent(data: ""), ServerSentEvent(data: "\n")])
        #expect(
            events("data:test\n\ndata: test\n\n") == [ServerSentEvent(data: "test"), ServerSentEvent(data: "test")])
        #expect(events("data:  two\r\n\r\n") == [ServerSentEvent(data: " two")])
    }

    @Test("identifiers stay until they are set anew; comments and unknown fields are passed over")
    func identifiers() {
        var parser = EventParser()
        let text =
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\nnonsense: x\ndata:  third event\n\n"
        #expect(
            events(text, parser: &parser) == [
                ServerSentEvent(data: "first event", id: "1"), ServerSentEvent(data: "second event"),
                ServerSentEvent(data: " third event"),
            ])
        #expect(parser.lastEventID == "")
        #expect(events("id: 7\n\nid: a\0b\ndata: x\n\n", parser: &parser) == [ServerSentEvent(data: "x", id: "7")])
        _ = events("id: 8\ndata: never ended\n", parser: &parser)
        #expect(parser.lastEventID == "7")
    }

    @Test("an event without data is none, and takes its name along")
    func names() {
        #expect(
            events("event: empty\n\nevent: add\ndata: 1\n\ndata: 2\n\n") == [
                ServerSentEvent(event: "add", data: "1"), ServerSentEvent(data: "2"),
            ])
    }

    @Test("retry is digits and nothing else, and of any size")
    func retry() {
        var parser = EventParser()
        for text in ["retry: -1\n", "retry: 1s\n", "retry:\n", "retry: ١\n"] { _ = events(text, parser: &parser) }
        #expect(parser.retry == nil)
        _ = events("retry: 250\n", parser: &parser)
        #expect(parser.retry == .milliseconds(250))
        _ = events("retry: 99999999999999999999999\n", parser: &parser)
        #expect(parser.retry == .longest)
    }

    @Test("a byte order mark at the start is none of the text")
    func mark() {
        #expect(events("\u{FEFF}data: x\n\n") == [ServerSentEvent(data: "x")])
        #expect(events("data: y\n\n\u{FEFF}data: x\n\n") == [ServerSentEvent(data: "y")])
    }
}

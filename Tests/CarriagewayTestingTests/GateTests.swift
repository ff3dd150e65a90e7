import Foundation
import Testing

@testable import CarriagewayTesting

@Suite("Gates", .timeLimit(.minutes(10)))
struct GateTests {
    private let server: LoopbackServer
    private let gate = LoopbackServer.Gate()

    init() throws {
        server = try LoopbackServer()
        server.on("/held", .text("passed").held(by: gate))
    }

    /// Clients whose requests have come to the gate in this order.
    private func waitingClients(_ count: Int) async throws -> [TestClient] {
        var clients: [TestClient] = []
        for _ in 0..<count {
            let client = try TestClient(server)
            client.get("/held")
            clients.append(client)
            try await gate.waitForArrivals(clients.count)
        }
        return clients
    }

    @Test("openOne lets pass one at a time, in order of arrival")
    func order() async throws {
        let clients = try await waitingClients(4)
        for (index, client) in clients.enumerated() {
            #expect(gate.waitingCount == 4 - index)
            gate.openOne()
            #expect(client.response()?.text == "passed")
        }
        #expect(gate.waitingCount == 0 && gate.arrivalCount == 4)
    }

    @Test("openOne before anybody waits lets pass the next one only")
    func permit() async throws {
        gate.openOne()
        let clients = try await waitingClients(2)
        #expect(clients[0].response()?.text == "passed")
        #expect(gate.waitingCount == 1)
        gate.open()
        #expect(clients[1].response()?.text == "passed")
    }

    @Test("open lets pass all who wait and all who come later")
    func open() async throws {
        let clients = try await waitingClients(3)
        gate.open()
        for client in clients { #expect(client.response()?.text == "passed") }
        clients[0].get("/held")
        #expect(clients[0].response()?.text == "passed")
        #expect(gate.waitingCount == 0)
    }

    @Test("a client that leaves gives up its place")
    func withdrawal() async throws {
        let clients = try await waitingClients(3)
        clients[0].close()
        try await server.waitForOpenConnections(atMost: 2)
        clients[1].reset()
        try await server.waitForOpenConnections(atMost: 1)
        #expect(gate.waitingCount == 1)
        gate.openOne()
        #expect(clients[2].response()?.text == "passed")
        try await server.waitUntilIdle()
    }

    @Test("a response before the held one is not held")
    func heldAfterInformational() async throws {
        server.on("/hints", .text("final").held(by: gate).preceded(by: 103))
        let client = try TestClient(server)
        client.get("/hints")
        #expect(client.response()?.status == 103)
        try await gate.waitForArrivals(1)
        #expect(gate.waitingCount == 1)
        gate.open()
        #expect(client.response()?.text == "final")
    }

    @Test("one gate can hold the answers of two servers, and an answer can be held twice")
    func sharedGate() async throws {
        let other = try LoopbackServer()
        let second = LoopbackServer.Gate()
        other.on("/held", .text("other").held(by: gate).held(by: second))
        let clients = [try TestClient(server), try TestClient(other)]
        for client in clients { client.get("/held") }
        try await second.waitForArrivals(1)
        second.open()
        try await gate.waitForArrivals(2)
        gate.open()
        #expect(clients[0].response()?.text == "passed")
        #expect(clients[1].response()?.text == "other")
    }
}

// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "Carriageway",
    platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "Carriageway", targets: ["Carriageway"]),
        .library(name: "CarriagewayTesting", targets: ["CarriagewayTesting"]),
        .executable(name: "carriageway", targets: ["CarriagewayCommand"]),
    ],
    targets: [
        .target(
            name: "Carriageway",
            dependencies: [.target(name: "CarriagewayCurl", condition: .when(platforms: [.linux]))]),
        // libcurl as it is found at run time; empty elsewhere than on Linux.
        .target(name: "CarriagewayCurl"),
        .target(name: "CarriagewayTesting", dependencies: ["Carriageway"]),
        .executableTarget(name: "CarriagewayCommand", dependencies: ["Carriageway", "CarriagewayTesting"]),
        // What would take the tests down with it if it went wrong runs in a process of its own.
        .executableTarget(
            name: "CarriagewayProbe", dependencies: ["Carriageway", "CarriagewayTesting"],
            path: "Tests/CarriagewayProbe"),
        // Long runs, and trials that need a network of their own.
        .executableTarget(
            name: "CarriagewayTrial", dependencies: ["Carriageway", "CarriagewayTesting"],
            path: "Tests/CarriagewayTrial"),
        .testTarget(
            name: "CarriagewayTests",
            dependencies: ["Carriageway", "CarriagewayTesting", "CarriagewayProbe", "CarriagewayTrial"]),
        .testTarget(
            name: "CarriagewayCommandTests", dependencies: ["Carriageway", "CarriagewayCommand", "CarriagewayTesting"]),
        .testTarget(name: "CarriagewayTestingTests", dependencies: ["CarriagewayTesting"]),
    ],
    swiftLanguageModes: [.v6]
)

// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "Carriageway", path: "..")],
    targets: [
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                .product(name: "Carriageway", package: "Carriageway"),
                .product(name: "CarriagewayTesting", package: "Carriageway"),
                "PlainCurl",
            ]),
        // Empty where libcurl's headers are not installed.
        .target(name: "PlainCurl"),
    ],
    swiftLanguageModes: [.v6]
)

// Package sdk tests firn's model clients against the official Go SDKs of Anthropic and
// OpenAI. It contains only tests, and is a separate module, so that nothing else has to
// download or compile the SDKs. `make test` runs it. No network is needed.
//
// If the module firn requires a later version of a dependency of the SDKs, the go command
// asks for `go mod tidy` in this directory.
//
// Guarantees:
//
//   - The SDKs decode firn's requests into their own types, know each part, and send
//     them again as the same JSON, to the same path, with the same headers (TestSent,
//     TestSentRandomly). Each word that is not free text is a constant of the SDK.
//     TestComparisonDetectsDefects changes requests in every place, to check that this detects unknown
//     parts.
//   - The SDKs and firn read the same text, thinking, calls, usage and stop reason from
//     every recording in the clients' tests, and from random streams in the form of the
//     APIs (TestRead, TestReadRandomly).
//   - firn and the SDKs report the same status, code and message of failures, and retry
//     for the same reasons (TestFailures).
//   - The SDK works with firn's OpenAI-compatible API of a gateway over HTTP with a
//     token: conversations kept by the client or by the gateway, streams, client tools,
//     errors (TestDoor…).
//
// Known differences, each with a line that gives its reason and is checked to be still
// needed:
//
//   - In requests: members of other servers that OpenAI does not have, null for members
//     that the SDK omits, and ?beta=true (the allowed differences of each sender).
//   - OpenAI's SDK decodes every item of type "message" as the first of three kinds,
//     including its own, so the test has to set the kind.
//   - In answers: interrupted calls, empty answers, and deviations of other servers
//     (notes_test.go).
//   - In failures: firn does not repeat keys and HTML pages, does not retry permanent
//     errors, and ignores the header X-Should-Retry (the lists in fail_test.go).
package sdk

// Package sdk proves firn's clients of models with the official Go SDKs of
// Anthropic and OpenAI. It has no code of its own, only tests, and it is a
// module of its own, so that nothing else has to download or compile the SDKs
// . `make test` runs it. Nothing of it needs a network.
//
// If the module firn comes to need a later version of something that the SDKs
// need too, the go command will ask for `go mod tidy` in this directory.
//
// What holds:
//
//   - What we send, the SDKs decode into their own types, know each part of,
//     and send again as the same JSON, to the same path, with the same headers
//     (TestSent, TestSentRandomly). Each word that is not free text is among
//     the constants of the SDK. TestPoison spoils requests in every place, to
//     see that nothing unknown gets past this.
//
//   - Of every recording that the clients were tried with, and of random streams
//     as the APIs send them, the SDKs and we read the same text, thinking,
//     calls, usage and end (TestRead, TestReadRandomly).
//
//   - Of answers that are none we tell the same status, code and message, and
//     ask again for the same reasons (TestFail).
//
//   - Through our door for OpenAI's API, the SDK talks to a gateway over HTTP with
//     a token: conversations that it sends whole or leaves to us, streams, its
//     own tools, errors (TestDoor and what begins so).
//
// What differs is known, and each difference has a line with its reason and
// will be noticed when it goes away:
//
//   - In requests: members that other servers have and OpenAI has not, null
//     where the SDK leaves a member out, and ?beta=true (the allowed of each
//     sender).
//   - The SDK of OpenAI takes every item of the type "message" for the first of
//     three kinds, its own ones too, so the test has to say which it is.
//   - In answers: calls that ended in the middle, answers with nothing in them,
//     and what servers of others do differently (notes_test.go).
//   - In failures: keys and pages of HTML are not repeated, and what cannot
//     change is not asked again; the header X-Should-Retry is not looked at (the
//     lists in fail_test.go).
package sdk

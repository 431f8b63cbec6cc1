// Package webtest tests the pages in a real browser: Debian's Chromium, installed by
// tools/setup.sh and controlled over the DevTools protocol. It contains only tests.
//
// Each test uses a tab that is logged in with a one-time code of `firn open`, on a real
// `firn serve` with its own home. The model is the offline model, or one that the test
// plays over HTTP word by word, so that it can inspect partial answers.
//
// Every test fails if the page logs an error, throws an exception, violates its content
// security policy, or sends a request to anything but the gateway. Tests wait for
// conditions, never for a fixed time. Measurements count bytes and CPU time, which do not
// depend on the load of the machine.
package webtest

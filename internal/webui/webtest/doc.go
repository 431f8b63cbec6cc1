// Package webtest looks at the pages with a real browser: Debian's Chromium,
// which tools/setup.sh installs, steered over its debugging protocol. It has no
// code of its own, only tests.
//
// Each test has a tab that is let in as people are, by a one-time code of `firn
// open`, at a real `firn serve` with a home of its own. The model is the offline
// one, or one that the test plays over HTTP, word by word, so that it can look
// into the middle of an answer.
//
// Whatever else a test is about, it fails if the page logs an error, throws,
// breaks its content security policy, or asks anybody but the gateway for
// anything. Tests wait until something is so, never for a time; what is measured
// is bytes and processor time, which a busy machine does not change.
package webtest

// Package s3 tests firn sync with a real S3 server (versitygw with its posix backend), which
// runs in a process of its own. It contains only tests, and is a separate module, so that
// nothing else has to download or compile the server. `make test` runs it. It runs the
// program and the tests of internal/ops/sessionsync as they are built from the sources; it
// needs no network but loopback.
//
// A proxy in front of the server delays, repeats, cuts and loses requests by a seed.
//
// Guarantees:
//
//   - Three machines that sync through two buckets with these faults end with the same
//     sessions, and no entry is lost (TestMachinesConverge).
//   - `firn sync` can be killed at every request: the next one continues, and nothing is lost
//     or there twice (TestKill).
//   - No object is ever replaced: the server accepts at most one upload of each name, whatever
//     the proxy repeats (both).
//   - Wrong credentials, a missing bucket, a dead server and a wrong address are reported with
//     a sentence and a hint (TestErrors).
package s3

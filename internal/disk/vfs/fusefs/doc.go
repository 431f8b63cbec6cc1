// Package fusefs mounts a [firn.dev/internal/disk/vfs/faultfs.FS] as a real file system, so that
// whole programs can run on a disk that fails and loses power. It is for tests only,
// requires Linux, and needs permission to mount.
//
// Durability and crashes follow the rules of faultfs: bytes are durable after fsync or
// fdatasync of the file, names (including those of directories) after fsync of the
// directory. The kernel caches nothing, so every read and write of a program reaches this
// package. Owners, permissions and times cannot be set: files are 0600 and directories
// 0700. Hard links, symbolic links and shared writable memory maps are not supported. The
// kernel manages locks; a crash releases them.
//
// It differs from a disk in two ways. syncfs succeeds and does nothing, because the kernel
// does not forward it. And because the kernel computes the offset of an append, a file must
// not be modified through faultfs while it is open.
//
// The process that mounts the file system also serves it, so it must not block on it where
// none of its other threads can run. Do not start a program with its working directory in
// the mount (exec.Cmd.Dir); have the program change to it instead. Do not map files of the
// mount into memory.
package fusefs

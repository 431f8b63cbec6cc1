package vfs

import "testing"

func TestSyncErrorsAreReported(t *testing.T) {
	for release, want := range map[string]bool{
		"5.7.19": false, "5.8.0-1-amd64": true, "5.15.0": true, "6.18.44-fc": true, "10.0": true,
		"4.19.0": false, "": false, "six": false,
	} {
		if got := reportsSyncErrors(release); got != want {
			t.Errorf("%q: %v", release, got)
		}
	}
}

func TestLocalFS(t *testing.T) {
	for kind, want := range map[int64]bool{
		0xef53: true, 0x58465342: true, 0x9123683e: true, // ext4, xfs, btrfs
		0x65735546: false, 0x6969: false, 0x01021997: false, // FUSE, NFS, 9p
	} {
		if got := localFS(kind); got != want {
			t.Errorf("%#x: %v", kind, got)
		}
	}
}

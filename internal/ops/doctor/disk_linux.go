package doctor

import (
	"fmt"
	"syscall"
)

// networks maps the file system types of statfs(2) to names.
var networks = map[int64]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xff534d42: "SMB",
	0xfe534d42: "SMB",
	0x65735546: "FUSE",
	0x00c36400: "Ceph",
	0x01021997: "9P",
	0x5346414f: "AFS",
	0x0bd00bd0: "Lustre",
}

// diskOf returns the disk of a path, using statfs(2).
func diskOf(path string) (Disk, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return Disk{}, fmt.Errorf("get free space of %s: %w", path, err)
	}
	size := int64(st.Bsize)
	return Disk{
		Free:    int64(st.Bavail) * size,
		Total:   int64(st.Blocks) * size,
		Network: networks[int64(uint32(st.Type))],
	}, nil
}

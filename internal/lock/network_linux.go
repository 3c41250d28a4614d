package lock

import (
	"slices"

	"golang.org/x/sys/unix"
)

// networks are the file systems that several machines may share, by their statfs(2) type. FUSE has one type for many
// kinds of file systems, and some of them are local.
var networks = []int64{
	unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.AFS_SUPER_MAGIC,
	unix.AFS_FS_MAGIC, unix.CODA_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC,
	unix.V9FS_MAGIC, unix.FUSE_SUPER_MAGIC, unix.OCFS2_SUPER_MAGIC,
	0x01161970, // GFS2
	0x0BD00BD0, // Lustre
	0x19830326, // BeeGFS
	0x47504653, // GPFS
	0xAAD7AAEA, // PanFS
	0x013111A8, // IBRIX
	0x564C,     // NCP
	0x20030528, // OrangeFS
}

// network reports whether a folder is on a file system that several machines may share.
func network(dir string) bool {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return false
	}
	return slices.Contains(networks, int64(s.Type)&0xFFFFFFFF)
}

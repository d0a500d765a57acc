//go:build unix

package main

import (
	"io/fs"
	"math"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// freeAt is how many bytes, and how many files, still have room where a folder is.
func freeAt(folder string) (bytes, files int64, err error) {
	var has unix.Statfs_t
	if err := unix.Statfs(folder, &has); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: folder, Err: err}
	}
	files = int64(has.Ffree)
	if has.Files == 0 { // some file systems have no number of their own for each
		files = math.MaxInt64
	}
	return int64(has.Bavail) * int64(has.Bsize), files, nil
}

// mayWrite reports whether this user may write to a file or folder.
func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }

// ownerOf names the user whose a file is.
func ownerOf(info fs.FileInfo) string {
	has, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	id := strconv.FormatUint(uint64(has.Uid), 10)
	if known, err := user.LookupId(id); err == nil {
		return known.Username
	}
	return id
}

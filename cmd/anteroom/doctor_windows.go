package main

import (
	"io/fs"
	"math"

	"golang.org/x/sys/windows"
)

// freeAt is how many bytes still have room where a folder is. Windows bounds no number of files.
func freeAt(folder string) (bytes, files int64, err error) {
	path, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0, 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(path, &free, nil, nil); err != nil {
		return 0, 0, &fs.PathError{Op: "free space", Path: folder, Err: err}
	}
	return int64(min(free, math.MaxInt64)), math.MaxInt64, nil
}

// What follows is about modes and owners, which Windows does not tell as others do.

func mayWrite(string) bool { return true }

func ownerOf(fs.FileInfo) string { return "" }

// Package content holds the files of this folder, so that the program carries the words with which
// it begins a new service. The loader of content leaves this file out.
package content

import "embed"

// Files are the content files, by their paths in the folder.
//
//go:embed *.yaml */*.yaml */*.md
var Files embed.FS

// Package content holds the files of this folder, so that the program carries the words with which
// it begins a new service. The loader of content leaves this file out.
package content

import "embed"

// Host is the canonical host of these files. No service runs there.
const Host = "www.anteroom.example"

// Files are the content files, by their paths in the folder.
//
//go:embed *.yaml */*.yaml */*.md receipt.json
var Files embed.FS

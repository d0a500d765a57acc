// Package content embeds the files of this folder, the texts of a new service. The loader of
// content skips this file.
package content

import "embed"

// Host is the canonical host of these files. No service runs there.
const Host = "www.anteroom.example"

// Files are the content files, by their paths in the folder.
//
//go:embed *.yaml */*.yaml */*.md receipt.json
var Files embed.FS

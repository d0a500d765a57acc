//go:build !release

package bundle

import (
	"embed"
	"io/fs"
)

var carried fs.FS = embed.FS{}

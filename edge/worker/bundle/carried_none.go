//go:build !release

package bundle

import "io/fs"

var carried fs.FS

//go:build release

package bundle

import (
	"embed"
	"io/fs"
)

//go:embed files
var embedded embed.FS

var carried fs.FS = embedded

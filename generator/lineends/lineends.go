// Package lineends recognizes files whose line ends a tool has changed since the program wrote
// them, as git does with core.autocrlf unless an attribute forbids it (gitattributes(5)).
package lineends

import "bytes"

// Attribute is the line of .gitattributes that keeps the bytes of all files.
const Attribute = "* -text"

// What describes a file whose line ends were changed.
const What = "line ends were changed, as git does with core.autocrlf"

// What to do about it. The first is for a file that anteroom generate does not make.
const (
	Restore = `run sed -i 's/\r$//' on it; ` + keep
	Remake  = "run anteroom generate; " + keep

	keep = `"` + Attribute + `" in .gitattributes and git add --renormalize . keep git from changing it`
)

// Changed reports whether a text is right with other line ends: matches has to accept it with LF,
// or with CR LF, at the end of each line.
func Changed(text []byte, matches func([]byte) bool) bool {
	lf := bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return matches(lf) || matches(bytes.ReplaceAll(lf, []byte("\n"), []byte("\r\n")))
}

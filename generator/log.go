package generator

import (
	"anteroom/generator/contract"
	"anteroom/generator/output"
	"anteroom/generator/tlog"
)

// publicLog returns first the files that the manifest lists: the key and the newest checkpoint. The
// thousands of others follow from these.
func publicLog(a *contract.Answers) (first, rest []File, err error) {
	all, err := a.Site.Log.Files()
	for _, f := range all {
		file := output.NewFile(f.Path, f.Bytes)
		if f.Path == tlog.KeyPath || f.Path == tlog.CheckpointPath {
			first = append(first, file)
		} else {
			rest = append(rest, file)
		}
	}
	return first, rest, err
}

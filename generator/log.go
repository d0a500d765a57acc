package generator

import (
	"fmt"

	"anteroom/edge/assets"
	"anteroom/generator/contract"
	"anteroom/generator/output"
	"anteroom/generator/tlog"
)

// publicLog returns first the files that the manifest lists: the key and the newest checkpoint. The
// thousands of others follow from these.
func publicLog(a *contract.Answers) (first, rest []File, err error) {
	if err := checkLoggedBoards(a); err != nil {
		return nil, nil, err
	}
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

func checkLoggedBoards(a *contract.Answers) error {
	logged := map[string]string{}
	for i := range a.Site.Log.Stages {
		logged[a.Site.Log.Stages[i].Name] = a.Site.Log.Stages[i].Entry.BoardSHA256
	}
	for i := range a.Site.Scoreboards {
		board := &a.Site.Scoreboards[i]
		if sum, is := logged[board.File]; is && sum != assets.SumOf(contract.BoardDocument(board)) {
			return fmt.Errorf("scoreboard/%s.yaml differs from the log (restore it from git)", board.File)
		}
	}
	return nil
}

package generator

import (
	"fmt"
	"slices"

	"anteroom/generator/contract"
	"anteroom/generator/output"
	"anteroom/generator/tlog"
)

// publicLog returns first the files that the manifest lists: keys, policies and newest checkpoints.
// The thousands of others follow from these.
func publicLog(a *contract.Answers) (first, rest []File, err error) {
	if err := checkLoggedBoards(a); err != nil {
		return nil, nil, err
	}
	all, err := a.Site.Log.Files()
	for _, f := range all {
		file := output.NewFile(f.Path, f.Bytes)
		file.Make = f.Make
		tree := tlog.TreePath(f.Path)
		if slices.Contains([]string{tlog.KeysPath, tlog.PolicyPath(tree), tlog.CheckpointPath(tree)}, f.Path) {
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
		entry := tlog.VerificationOf(board.File, board.AsOf, contract.BoardDocument(board))
		if sum, is := logged[board.File]; is && sum != entry.BoardSHA256 {
			return fmt.Errorf("scoreboard/%s.yaml differs from the log (restore it from git)", board.File)
		}
	}
	return nil
}

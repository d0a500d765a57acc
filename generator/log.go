package generator

import (
	"slices"

	"anteroom/generator/tlog"
)

// publicLog publishes what a reader of the log begins with: its keys, policies and newest
// checkpoints. They stand in the manifest. It gives the thousands of files that follow from them,
// which do not.
func (g *generation) publicLog() (rest []tlog.File) {
	g.checkLoggedBoards()
	files, err := g.site.Log.Files()
	if err != nil {
		g.fault("%w", err)
	}
	for _, f := range files {
		tree := tlog.TreePath(f.Path)
		if slices.Contains([]string{tlog.KeysPath, tlog.PolicyPath(tree), tlog.CheckpointPath(tree)}, f.Path) {
			g.add(f.Path, f.Bytes)
		} else {
			rest = append(rest, f)
		}
	}
	return rest
}

// addLog publishes files of the log under the headers of its paths.
func (g *generation) addLog(files []tlog.File) {
	for _, f := range files {
		g.add(f.Path, f.Bytes)
		g.documents[len(g.documents)-1].Make = f.Make
	}
}

// checkLoggedBoards holds every board that the log has to the SHA-256 there.
func (g *generation) checkLoggedBoards() {
	logged := map[string]string{}
	for i := range g.site.Log.Stages {
		logged[g.site.Log.Stages[i].Name] = g.site.Log.Stages[i].Entry.BoardSHA256
	}
	for i := range g.site.Scoreboards {
		board := &g.site.Scoreboards[i]
		published := tlog.VerificationOf(board.File, board.AsOf, BoardDocument(board))
		if sum, is := logged[board.File]; is && sum != published.BoardSHA256 {
			g.fault("scoreboard/%s.yaml is another board than the log has (bring it back from version control: what was logged is never edited)", board.File)
		}
	}
}

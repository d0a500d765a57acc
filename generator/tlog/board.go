package tlog

import (
	"bytes"
	"encoding/json"

	"anteroom/edge/jsondoc"
)

// scoreboardPath is the newest board.
const scoreboardPath = "/scoreboard.json"

// boardParts are the parts of a board that have the numbers of Counts, in their order.
var boardParts = [...]string{"pilot_waitlist", "pilot_waitlist", "orgs", "suggestions", "excluded_from_counts"}

// checkBoards compares each board with the verification that has logged it, and the newest board
// with the last verification.
func (c *check) checkBoards() error {
	if len(c.log.Stages) == 0 {
		return nil
	}
	var paths []string
	for i := range c.log.Stages {
		paths = append(paths, c.log.Stages[i].Entry.Board)
	}
	return c.each(append(paths, scoreboardPath), func(i int, text []byte) error {
		e := &c.log.Stages[min(i, len(paths)-1)].Entry
		if text == nil {
			return nil
		}
		if i == len(paths) {
			return c.checkBoard(scoreboardPath, text, e)
		}
		if sum := sumOf(text); sum != e.BoardSHA256 {
			if err := c.fault(e.Board, "has the SHA-256 %s, and its verification has logged %s", sum, e.BoardSHA256); err != nil {
				return err
			}
		}
		return c.checkBoard(e.Board, text, e)
	})
}

// checkBoard compares the numbers of a board with a verification. It reads the board strictly: a
// number that is there twice, or in another part, would be one to this reader and another to the
// next.
func (c *check) checkBoard(path string, text []byte, e *Entry) error {
	counts, err := json.Marshal(e.Counts)
	var board, logged jsondoc.Value
	if err == nil {
		logged, err = jsondoc.Parse(counts)
	}
	if err == nil {
		board, err = jsondoc.Parse(text)
	}
	if err != nil {
		return c.fault(path, "is not a board: %v", err)
	}
	if asOf := board.Get("as_of"); asOf.Kind != jsondoc.String || asOf.Text != e.AsOf {
		err = c.fault(path, "is as of %.20q, and its verification as of %s", asOf.Text, e.AsOf)
	}
	for i, number := range logged.Members {
		is := board.Get(boardParts[i]).Get(number.Name)
		if err == nil && !bytes.Equal(is.Raw, number.Value.Raw) {
			err = c.fault(path, "has %.20q as %s.%s, and the log %s", is.Raw, boardParts[i], number.Name, number.Value.Raw)
		}
	}
	return err
}

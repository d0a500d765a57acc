package server

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cli"
)

// The journal gets the priority of each line, whatever a message contains.
func TestJournal(t *testing.T) {
	for _, format := range []string{LogText, logJSON} {
		for _, journal := range []string{"", "8:1234"} {
			t.Setenv("JOURNAL_STREAM", journal)
			var out bytes.Buffer
			log := (&Options{LogFormat: format}).logger(cli.New(nil, nil, &out))
			log.Info("ERROR WARN")
			log.Warn("ERROR")
			log.Error("x")
			want := ""
			if journal != "" {
				want = "<6><4><3>"
			}
			got := strings.Join(regexp.MustCompile(`(?m)^<[0-9]>`).FindAllString(out.String(), -1), "")
			if got != want || strings.Count(out.String(), "\n") != 3 {
				t.Errorf("%s: %s, want the priorities %s", format, out.String(), want)
			}
		}
	}
}

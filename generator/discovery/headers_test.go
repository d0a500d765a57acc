package discovery

import (
	"fmt"
	"strings"
	"testing"

	"anteroom/edge/assets"
	"anteroom/generator/contract"
	"anteroom/generator/output"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

// configured are documents at these paths beside a page, and their _headers.
func configured(t *testing.T, paths ...string) (headers string) {
	t.Helper()
	var documents []output.File
	for _, p := range append(paths, "/404.html") {
		documents = append(documents, output.NewFile(p, []byte(p)))
	}
	files, err := Configuration(&contract.Answers{Site: &site.Site{Log: &tlog.Log{}}}, documents)
	if err != nil {
		t.Fatal(err)
	}
	return string(files[0].Bytes)
}

// A log with many tiles needs no more rules than one with few.
func TestRulesOfLog(t *testing.T) {
	count := func(headers string) int { return strings.Count("\n"+headers, "\n/") }
	var few, many []string
	for n := range int64(2000) {
		many = append(many, fmt.Sprintf("/log/tile/0/x%03d/%03d", n/1000, n%1000), tlog.CheckpointOf(n))
	}
	few = append(few, many[:2]...)
	small := configured(t, few...)
	if large := configured(t, many...); count(large) != count(small) {
		t.Errorf("%d rules for many files, and %d for few", count(large), count(small))
	}
	if output.As("/log/surprise") != nil {
		t.Error("a file that no log has would be published")
	}
	if headers := configured(t, "/robots.txt"); strings.Contains(headers, tlog.Folder) {
		t.Errorf("rules for a log that is not there:\n%s", headers)
	}
}

// The _headers file may have as many rules, and lines as long, as the CDN takes, and no more.
func TestMostRules(t *testing.T) {
	for _, over := range []int{0, 1} {
		var documents []output.File
		for i := range assets.MaxRules - 3 + over { // the others are for all paths, the front page and the MCP endpoint
			documents = append(documents, output.NewFile(fmt.Sprintf("/%d.txt", i), nil))
		}
		if _, err := Configuration(&contract.Answers{Site: &site.Site{Log: &tlog.Log{}}}, documents); (err != nil) != (over > 0) {
			t.Errorf("%d rules: %v", assets.MaxRules+over, err)
		}
	}
	for _, over := range []int{0, 1} {
		long := output.NewFile("/"+strings.Repeat("p", assets.MaxLine-len("/.txt")+over)+".txt", nil)
		if _, err := Configuration(&contract.Answers{Site: &site.Site{Log: &tlog.Log{}}}, []output.File{long}); (err != nil) != (over > 0) {
			t.Errorf("a line of %d characters: %v", assets.MaxLine+over, err)
		}
	}
}

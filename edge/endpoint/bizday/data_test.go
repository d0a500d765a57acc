package bizday_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"anteroom/edge/endpoint/bizday"
)

var update = flag.Bool("update", false, "add the present closed days to testdata/data_versions as those of DataVersion")

// DataVersion changes if and only if a closed day or its name does: testdata/data_versions has each
// version once, the oldest first, with the SHA-256 of its closed days.
func TestDataVersion(t *testing.T) {
	first, last := bizday.Range()
	sum := sha256.New()
	for _, id := range bizday.IDs() {
		var answer struct{ Result []struct{ Date, Name string } }
		if err := json.Unmarshal([]byte(ask(t, "op=holidays&calendar="+id+"&start="+first+"&end="+last)), &answer); err != nil {
			t.Fatal(err)
		}
		for _, holiday := range answer.Result {
			fmt.Fprintln(sum, holiday.Date, id, holiday.Name)
		}
	}
	line := fmt.Sprintf("%s %x\n", bizday.DataVersion, sum.Sum(nil))
	const file = "testdata/data_versions"
	text, err := os.ReadFile(file)
	if *update && err == nil && !strings.HasSuffix(string(text), line) {
		text = append(text, line...)
		err = os.WriteFile(file, text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(text), line) {
		t.Errorf("the closed days are not those of data_version %s (set DataVersion to the day of the change, and run this test with -update)", bizday.DataVersion)
	}
	sums, newest := map[string]bool{}, ""
	for known := range strings.Lines(string(text)) {
		version, sum, _ := strings.Cut(strings.TrimSpace(known), " ")
		if version <= newest || sums[sum] {
			t.Errorf("%s: %s: want a later version with other closed days", file, strings.TrimSpace(known))
		}
		newest, sums[sum] = version, true
	}
}

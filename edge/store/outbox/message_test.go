package outbox

import (
	"strings"
	"testing"

	"anteroom/edge/turn"
)

// A message names as many of its records as fit into its header field: a mail system refuses a
// longer field.
func TestAddRecord(t *testing.T) {
	id := strings.Repeat("0", 32)
	var m turn.Message
	for range MaxRecords + 5 {
		addRecord(&m, id)
	}
	if n, size := len(m.Records), len(strings.Join(m.Records, ", ")); n != MaxRecords || size > 2048 || size+len(", ")+len(id) <= 2048 {
		t.Errorf("%d records in %d bytes, and there are said to be %d", n, size, MaxRecords)
	}
	for length, want := range map[int]int{2048: 1, 2049: 0} {
		var m turn.Message
		if addRecord(&m, strings.Repeat("0", length)); len(m.Records) != want {
			t.Errorf("%d records of %d bytes", len(m.Records), length)
		}
	}
	m = turn.Message{Records: []string{strings.Repeat("0", 1000)}}
	if addRecord(&m, strings.Repeat("1", 1047)); len(m.Records) != 1 {
		t.Error("a separator is not counted")
	}
	if addRecord(&m, strings.Repeat("1", 1046)); len(m.Records) != 2 {
		t.Error("there is room")
	}
}

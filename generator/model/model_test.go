package model_test

import (
	"testing"

	"anteroom/edge/endpoint/bizday"
	"anteroom/generator/model"
)

// Every calendar is described, in the order of the table of rules.
func TestCalendars(t *testing.T) {
	ids, described := bizday.IDs(), model.Calendars()
	if len(ids) != 11 || len(described) != len(ids) {
		t.Fatalf("%d calendars, %d descriptions", len(ids), len(described))
	}
	for i, c := range described {
		if c.ID != ids[i] || c.Name == "" || c.Authority == "" || c.Scope == "" || c.LeavesOut == "" {
			t.Errorf("%+v, and the calendar is %s", c, ids[i])
		}
	}
}

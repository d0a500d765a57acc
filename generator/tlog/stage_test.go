package tlog

import "testing"

// Each entry of each tree came with the first stage that has it.
func TestStageOf(t *testing.T) {
	first, second := &Tree{}, &Tree{First: 9}
	l := &Log{Stages: []Stage{{Tree: first, Size: 1}, {Tree: first, Size: 2}, {Tree: first, Size: 9}, {Tree: second, Size: 2}, {Tree: second, Size: 5}}}
	for tree, stages := range map[*Tree][]int{first: {0, 1, 2, 2, 2, 2, 2, 2, 2}, second: {3, 3, 4, 4, 4}} {
		for i, want := range stages {
			if got := l.stageOf(tree, int64(i)); got != &l.Stages[want] {
				t.Errorf("entry %d of the tree that begins at %d came with a stage of %d", i, tree.First, got.Size)
			}
		}
	}
}

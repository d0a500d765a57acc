package tlog_test

import "testing"

func BenchmarkFiles(b *testing.B) {
	made := treeOf(b, 50_000, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		files, err := made.Files()
		if err != nil {
			b.Fatal(err)
		}
		for i := range files {
			files[i].Content()
		}
	}
}

package tlog_test

import "testing"

func BenchmarkRead(b *testing.B) {
	made := treeOf(b, 50_000, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, faults := readAll(made.Keys, nil, made.stages); faults != nil {
			b.Fatal(told(faults))
		}
	}
}

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

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

// The log is read again each time, since it keeps the order of its hashes; that is not measured.
func BenchmarkFiles(b *testing.B) {
	made := treeOf(b, 50_000, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		l, faults := readAll(made.Keys, nil, made.stages)
		if faults != nil {
			b.Fatal(told(faults))
		}
		b.StartTimer()
		files, err := l.Files()
		if err != nil {
			b.Fatal(err)
		}
		for i := range files {
			files[i].Content()
		}
	}
}

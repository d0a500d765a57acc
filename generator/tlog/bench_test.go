package tlog_test

import (
	"testing"

	"anteroom/generator/tlog"
)

// benchmarked is the log that the benchmarks take.
func benchmarked(b *testing.B) *book { return treeOf(b, 50_000, 100_000) }

func BenchmarkRead(b *testing.B) {
	made := benchmarked(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, faults := readAll(made.Keys, nil, made.stages); faults != nil {
			b.Fatal(told(faults))
		}
	}
}

// Files are listed, and those of the look-up are made. The log is read anew each time, since it
// keeps the order of its hashes; that is not measured.
func BenchmarkFiles(b *testing.B) {
	made := benchmarked(b)
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
			if files[i].Make != nil {
				files[i].Make()
			}
		}
	}
}

func BenchmarkProve(b *testing.B) {
	s := benchmarked(b).Current()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Prove(s.Size / 3); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	made := benchmarked(b)
	s := made.Current()
	p, err := s.Prove(s.Size / 3)
	if err != nil {
		b.Fatal(err)
	}
	text, entry := p.Append(nil), s.Tree.Entry(s.Size/3)
	b.ReportAllocs()
	for b.Loop() {
		p, err := tlog.ParseProof(text)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Verify(entry, made.Keys, nil); err != nil {
			b.Fatal(err)
		}
	}
}

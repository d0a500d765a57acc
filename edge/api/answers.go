//go:build !tinygo

package api

// answers are zero values of the types that an operation may answer with. They describe its answers
// for the documents. Nothing that runs on the edge needs them, so a build for the edge has none.

func answers[T any]() []any {
	var answer T
	return []any{answer}
}

func eitherAnswer[T, U any]() []any { return append(answers[T](), answers[U]()...) }

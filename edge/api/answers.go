//go:build !tinygo

package api

// answers returns zero values of the types of an operation's answers, which the documents describe.
// A build for the edge has none.
func answers[T any]() []any {
	var answer T
	return []any{answer}
}

func eitherAnswer[T, U any]() []any { return append(answers[T](), answers[U]()...) }

package turn

// SQL returns a statement.
func SQL(text string, args ...any) Statement { return Statement{SQL: text, Args: args} }

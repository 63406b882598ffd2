"""Files -> arrays, each fault a DataError that says what is wrong with the file and where."""

package metrics

// AssignColumns is the assignment of columns to factors, for its test.
var AssignColumns = assign

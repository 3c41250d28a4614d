package metrics_test

import "context"

var ctx = context.Background()

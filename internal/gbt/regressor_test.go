package gbt

import "context"

var ctx = context.Background()

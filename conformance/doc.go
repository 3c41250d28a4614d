// Package conformance tests the parts of Unravel, also those that a program has registered itself. A test such as
//
//	func TestParts(t *testing.T) {
//		conformance.Datasets(t)
//		conformance.Supervisions(t)
//		conformance.Augmentations(t)
//		conformance.Optimizers(t)
//		conformance.Schedules(t)
//	}
//
// checks all that is registered; functions such as [CheckDataset] check one entry.
package conformance

package runconfig

import "sync"

// Memo keeps values by key. Its zero value is empty.
type Memo[K comparable, V any] struct{ values sync.Map }

// Get returns the value of a key, and makes it if it is new. An error is not kept.
func (m *Memo[K, V]) Get(key K, make func() (V, error)) (V, error) {
	if v, ok := m.Find(key); ok {
		return v, nil
	}
	v, err := make()
	if err == nil {
		m.Put(key, v)
	}
	return v, err
}

// Find returns a kept value; false if there is none.
func (m *Memo[K, V]) Find(key K) (v V, ok bool) {
	if known, ok := m.values.Load(key); ok {
		return known.(V), true
	}
	return v, false
}

// Put keeps a value.
func (m *Memo[K, V]) Put(key K, v V) { m.values.Store(key, v) }

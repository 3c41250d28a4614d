package serve

import (
	"context"
	"net"
	"slices"
	"sync"
)

// limited is a listener with at most so many open connections. Another one takes the place of the oldest connection that has not sent a
// request to be answered, so that visitors without the token lock nobody out. Where there is no such connection, others wait to be accepted.
type limited struct {
	net.Listener
	free chan struct{}
	done chan struct{}
	once sync.Once

	lock      sync.Mutex
	strangers []*counted // the oldest one first
}

func limit(l net.Listener, n int) net.Listener {
	return &limited{Listener: l, free: make(chan struct{}, n), done: make(chan struct{})}
}

// Accept waits for a connection, and until there are few enough.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	default:
		l.evict()
		select {
		case l.free <- struct{}{}:
		case <-l.done:
			return nil, net.ErrClosed
		}
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	one := &counted{Conn: c, from: l}
	l.lock.Lock()
	l.strangers = append(l.strangers, one)
	l.lock.Unlock()
	return one, nil
}

// evict closes the oldest stranger.
func (l *limited) evict() {
	l.lock.Lock()
	var oldest *counted
	if len(l.strangers) > 0 {
		oldest = l.strangers[0]
	}
	l.lock.Unlock()
	if oldest != nil {
		_ = oldest.Close() // the visitor sees it
	}
}

// know takes a connection out of the strangers.
func (l *limited) know(c *counted) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if at := slices.Index(l.strangers, c); at >= 0 {
		l.strangers = slices.Delete(l.strangers, at, at+1)
	}
}

type connectionKey struct{}

// withConnection keeps the connection of a request in its context.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// admit keeps the connection of a request that is answered.
func admit(ctx context.Context) {
	if c, ok := ctx.Value(connectionKey{}).(*counted); ok {
		c.from.know(c)
	}
}

// Close closes the listener.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// counted is a connection of a limited listener.
type counted struct {
	net.Conn
	from *limited
	once sync.Once
}

// Close closes the connection.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.from.know(c)
		<-c.from.free
	})
	return err
}

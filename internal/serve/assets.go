package serve

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"path"
	"sync"

	"github.com/unravel-ml/unravel/internal/report/web"
)

//go:embed pages/*.tmpl
var pageFiles embed.FS

//go:embed assets/*
var ownFiles embed.FS

var kinds = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}

// assets holds the files of pages by name: the files of package web, and the files in serve/.
var assets = sync.OnceValue(func() map[string]*content {
	list := map[string]*content{}
	add := func(name string, text []byte) {
		if kind, ok := kinds[path.Ext(name)]; ok {
			list[name] = newContent(kind, text)
		}
	}
	for _, name := range web.Scripts(widgets...) {
		add(name, []byte(web.Text(name)))
	}
	files, err := ownFiles.ReadDir("assets")
	if err != nil {
		panic(err) // the files are embedded
	}
	for _, f := range files {
		text, err := ownFiles.ReadFile("assets/" + f.Name())
		if err != nil {
			panic(err)
		}
		if f.Name() == "serve.css" {
			text = append([]byte(web.Style()), text...)
		}
		add("serve/"+f.Name(), text)
	}
	return list
})

var widgets = []string{"curves", "explore"}

func (s *Server) asset(w http.ResponseWriter, r *http.Request) error {
	c, ok := assets()[r.PathValue("name")]
	if !ok {
		return notFound("there is no such file")
	}
	return c.send(w, r)
}

type page struct {
	Title   string
	Scripts []string // scripts of package web, then scripts of the page
	Runs    string   // the folder of runs
	Single  bool     // the folder itself is a run, so there is no list
	Run     string   // the run of the page; empty: no single run
	Failure string   // why the page has no content
}

// newPage returns a page that shows widgets of package web and loads its own scripts.
func (s *Server) newPage(title string, widgets []string, scripts ...string) page {
	p := page{Title: title, Runs: s.runs.dir, Single: s.runs.single, Scripts: web.Scripts(widgets...)}
	for _, name := range append([]string{"shared.js"}, scripts...) {
		p.Scripts = append(p.Scripts, "serve/"+name)
	}
	return p
}

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(pageFiles, "pages/*.tmpl"))
})

// sendPage answers with a page of pages/. If the page has no content, the status is 404.
func (s *Server) sendPage(w http.ResponseWriter, r *http.Request, name string, p page) error {
	render := func() (any, error) {
		var b bytes.Buffer
		err := templates().ExecuteTemplate(&b, name, p)
		return newContent("text/html; charset=utf-8", b.Bytes()), err
	}
	if p.Failure == "" {
		return s.pages.send(w, r, "", name+"\x00"+p.Run, render)
	}
	c, err := render()
	if err != nil {
		return err
	}
	empty := c.(*content)
	empty.code = http.StatusNotFound
	return empty.send(w, r)
}

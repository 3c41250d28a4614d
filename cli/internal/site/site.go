// Package site builds a static site from Markdown pages: plain files with relative links, readable without a server.
//
// Each page gets the navigation, a table of contents, links to the previous and the next page, and a search field. The
// search index is made with the site. Build checks links, anchors and pictures. Equal sources give equal bytes.
package site

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/report/web"
)

// Source is the input of a site.
type Source struct {
	Name       string            // name of the site, next to the titles of pages
	Version    string            // version of the code, at the foot of pages
	Pages      map[string][]byte // Markdown by path, such as docs/data.md; every page begins with a first-level heading
	Files      fs.FS             // pictures that pages show, by their paths
	Groups     []Group           // the navigation: every page once
	Front      string            // the page of Pages that becomes index.html
	Repository string            // base address of links to other files, such as https://example.com/project/blob/main/
}

// Group is a part of the navigation.
type Group struct {
	Title string   `yaml:"title" doc:"heading of the group"`
	Pages []string `yaml:"pages" doc:"pages in order, such as docs/data.md"`
}

//go:embed assets/*.css assets/*.js
var assets embed.FS

const assetsFolder = "assets" // folder of styles and scripts, also on a site

// Build returns the files of a site by path. Its errors name the pages with broken links, and the links.
func Build(s Source) (map[string][]byte, error) {
	order, err := s.order()
	if err != nil {
		return nil, err
	}
	pages := map[string]*page{}
	var mistakes []error
	for _, name := range order {
		pages[name], err = parse(name, s.Pages[name])
		mistakes = append(mistakes, err)
	}
	if err := errors.Join(mistakes...); err != nil {
		return nil, err
	}
	files, err := s.assets()
	if err != nil {
		return nil, err
	}
	b := builder{source: s, order: order, pages: pages, files: files}
	for _, name := range order {
		mistakes = append(mistakes, b.links(pages[name]))
	}
	if err := errors.Join(mistakes...); err != nil {
		return nil, err
	}
	for i := range order {
		if err := b.write(i); err != nil {
			return nil, err
		}
	}
	index, err := b.index()
	if err != nil {
		return nil, err
	}
	files[path.Join(assetsFolder, indexFile)] = index
	return files, nil
}

// builder is a site during Build.
type builder struct {
	source Source
	order  []string
	pages  map[string]*page
	files  map[string][]byte
}

// assets returns styles and scripts by their paths in the site.
func (s Source) assets() (map[string][]byte, error) {
	files := map[string][]byte{}
	names, err := fs.Glob(assets, assetsFolder+"/*")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if files[name], err = assets.ReadFile(name); err != nil {
			return nil, err
		}
	}
	files[path.Join(assetsFolder, "style.css")] = []byte(web.Style()) // the styles of all pages of Unravel
	files[path.Join(assetsFolder, web.Base)] = []byte(web.Text(web.Base))
	return files, nil
}

func (s Source) order() (order []string, err error) {
	var mistakes []error
	for _, g := range s.Groups {
		for _, name := range g.Pages {
			switch _, ok := s.Pages[name]; {
			case !ok:
				mistakes = append(mistakes, fmt.Errorf("navigation: %s: there is no page %s; want the path of one", g.Title, name))
			case slices.Contains(order, name):
				mistakes = append(mistakes, fmt.Errorf("navigation: %s: %s is listed twice; want each page once", g.Title, name))
			default:
				order = append(order, name)
			}
		}
	}
	for name := range s.Pages {
		if !slices.Contains(order, name) {
			mistakes = append(mistakes, fmt.Errorf("navigation: %s is missing; want each page in a group", name))
		}
	}
	if !slices.Contains(order, s.Front) {
		mistakes = append(mistakes, fmt.Errorf("navigation: the front page %s is missing", s.Front))
	}
	slices.SortFunc(mistakes, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return order, errors.Join(mistakes...)
}

func (s Source) address(name string) string {
	if name == s.Front {
		return "index.html"
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// relative returns the link from one file of the site to another.
func relative(from, to string) string {
	link, err := filepath.Rel(filepath.FromSlash(path.Dir(from)), filepath.FromSlash(to))
	if err != nil { // an absolute path
		return to
	}
	return filepath.ToSlash(link)
}

// Manifest is a file that lists the other written files. The next call replaces these and nothing else.
const Manifest = "made-by-unravel.txt"

var manifest = disk.List{Name: Manifest,
	Head: "Files that unravel docs has made; it replaces them when it is called again."}

// ErrForeign is the error of [Write] for a folder with files that Write did not make. Name a new or empty folder, or
// remove the files.
var ErrForeign = errors.New("the folder holds files that unravel docs has not made")

// Write writes files, by path, into a folder, which must be new, empty or written by Write before. It deletes files of
// the earlier call that are not in the new list, and keeps other files in the folder. It does not follow links out of
// the folder.
func Write(dir string, files map[string][]byte) error {
	if err := disk.MakeDir(dir); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	before, err := made(root, dir)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if _, err := root.Lstat(name); err == nil && !slices.Contains(before, name) {
			return fmt.Errorf("%s: %w: %s", dir, ErrForeign, name)
		}
	}
	if err := manifest.Write(root, slices.Concat(before, names)); err != nil { // first: an interrupted call can then be repeated
		return err
	}
	for _, name := range names {
		if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
			return err
		}
		if err := root.WriteFile(name, files[name], 0o666); err != nil {
			return err
		}
	}
	for _, name := range before {
		if _, ok := files[name]; ok {
			continue
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			if root.Remove(folder) != nil { // the folder is not empty
				break
			}
		}
	}
	return manifest.Write(root, names)
}

// made lists the files of an earlier call. It returns an error if the folder only has other files.
func made(root *os.Root, dir string) ([]string, error) {
	names, err := manifest.Read(root)
	if errors.Is(err, fs.ErrNotExist) {
		entries, err := fs.ReadDir(root.FS(), ".")
		if err == nil && len(entries) > 0 {
			err = fmt.Errorf("%s: %w, such as %s; want a new or empty folder", dir, ErrForeign, entries[0].Name())
		}
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", dir, ErrForeign, err)
	}
	return names, nil
}

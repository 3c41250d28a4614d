"use strict";

// search finds words in all pages. It loads its index as a script at the first use of the field, because this works without a server.
const search = { root: document.documentElement.dataset.root, most: 20, loading: null };

// words splits text into words in lower case.
search.words = (text) => text.toLowerCase().split(/[^\p{L}\p{N}_.-]+/u).filter((w) => w);

// load fetches the index once.
search.load = function () {
  search.loading ||= new Promise((done, fail) => {
    const script = Unravel.element("script", { src: search.root + "assets/search-index.js" });
    script.addEventListener("load", () => {
      for (const s of Unravel.pages) s.all = { t: s.t.toLowerCase(), h: s.h.toLowerCase(), x: s.x.toLowerCase() };
      done(Unravel.pages);
    });
    script.addEventListener("error", () => fail(new Error("the index of the search is missing")));
    document.head.append(script);
  });
  return search.loading;
};

// begins returns 2 if a text has a word that begins with the given word, 1 if the given word is inside another word, and otherwise 0.
search.begins = function (text, word) {
  let found = 0;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) return 2;
    found = 1;
  }
  return found;
};

// score rates how well a section matches all words; 0: a word is missing.
search.score = function (section, words) {
  let sum = 0;
  for (const w of words) {
    const score = 20 * search.begins(section.all.h, w) + (section.h ? 6 : 30) * search.begins(section.all.t, w) + search.begins(section.all.x, w);
    if (!score) return 0;
    const at = section.all.x.indexOf(w);
    sum += score + (at < 0 ? 0 : 1 / (1 + at / 200)); // what a section is about stands at its beginning
  }
  if (words.join(" ") === section.all.h) sum += 100;
  return sum;
};

// find lists the sections that match a query, best first.
search.find = function (pages, question) {
  const words = search.words(question);
  if (!words.length) return [];
  return pages.map((section, place) => ({ section, place, score: search.score(section, words) }))
    .filter((f) => f.score > 0)
    .sort((a, b) => b.score - a.score || a.place - b.place)
    .slice(0, search.most)
    .map((f) => f.section);
};

// snippet returns the text around the first match, with marked words.
search.snippet = function (section, words) {
  const places = words.map((w) => section.all.x.indexOf(w)).filter((at) => at >= 0);
  let start = Math.max(0, Math.min(...places, section.x.length) - 40);
  if (!places.length) start = 0;
  if (start > 0) start = section.x.indexOf(" ", start) + 1;
  const text = section.x.slice(start, start + 150);
  return [start > 0 ? "... " : "", ...search.marked(text, words), start + 150 < section.x.length ? " ..." : ""];
};

// marked splits a text into strings and marked elements.
search.marked = function (text, words) {
  const parts = [];
  const low = text.toLowerCase();
  let at = 0;
  while (at < text.length) {
    let next = text.length;
    let size = 0;
    for (const w of words) {
      const found = low.indexOf(w, at);
      if (found >= 0 && (found < next || (found === next && w.length > size))) [next, size] = [found, w.length];
    }
    parts.push(text.slice(at, next));
    if (size) parts.push(Unravel.element("mark", {}, text.slice(next, next + size)));
    at = next + size || text.length;
  }
  return parts;
};

// field creates the search field and the list of results.
search.field = function (place) {
  const input = Unravel.element("input", {
    type: "search", placeholder: "Search (press /)", role: "combobox", "aria-label": "Search the documents", "aria-expanded": "false",
    "aria-controls": "found", "aria-autocomplete": "list", autocomplete: "off", spellcheck: false,
  });
  const list = Unravel.element("ul", { id: "found", role: "listbox", "aria-label": "Found", hidden: true });
  const status = Unravel.element("p", { className: "hidden", role: "status" });
  place.append(input, list, status);
  let chosen = -1;
  let asked = 0;

  const show = (open) => {
    list.hidden = !open;
    input.setAttribute("aria-expanded", String(open));
    if (!open) choose(-1);
  };
  const choose = (i) => {
    const options = list.querySelectorAll("[role=option]");
    chosen = options.length ? Math.max(-1, Math.min(i, options.length - 1)) : -1;
    options.forEach((o, at) => o.setAttribute("aria-selected", String(at === chosen)));
    if (chosen < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", options[chosen].id);
    options[chosen].scrollIntoView({ block: "nearest" });
  };
  const open = (section) => { location.href = search.root + section.u; show(false); };
  const ask = async () => {
    const question = input.value;
    const turn = ++asked;
    if (!question.trim()) return show(false);
    let found;
    try {
      found = search.find(await search.load(), question);
    } catch (failure) {
      list.replaceChildren(Unravel.element("li", { className: "none" }, failure.message));
      return show(true);
    }
    if (turn !== asked) return; // another letter came meanwhile
    const words = search.words(question);
    list.replaceChildren(...found.map((section, i) => {
      const title = section.h ? `${section.t}: ${section.h}` : section.t;
      const item = Unravel.element("li", { id: "found" + i, role: "option", "aria-selected": "false" },
        Unravel.element("b", {}, ...search.marked(title, words)), Unravel.element("span", {}, ...search.snippet(section, words)));
      item.addEventListener("mousedown", (event) => { event.preventDefault(); open(section); });
      item.section = section;
      return item;
    }));
    if (!found.length) list.append(Unravel.element("li", { className: "none" }, "Nothing found"));
    status.textContent = found.length === 1 ? "1 place found" : `${found.length} places found`;
    chosen = -1;
    show(true);
  };

  input.addEventListener("focus", () => { search.load().catch(() => {}); });
  input.addEventListener("input", ask);
  input.addEventListener("blur", () => show(false));
  input.addEventListener("keydown", (event) => {
    const options = list.querySelectorAll("[role=option]");
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen - 1);
    else if (event.key === "Escape") show(false);
    else if (event.key === "Enter" && options.length && !list.hidden) open(options[Math.max(chosen, 0)].section);
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.focus();
  });
};

search.field(document.querySelector("[data-search]"));

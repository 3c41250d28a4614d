"use strict";

// site has the functions of every page of the documents, except search.
const site = {};

// copies adds a copy button to blocks of code.
site.copies = function () {
  for (const block of document.querySelectorAll(".code")) {
    const button = Unravel.element("button", { type: "button", "aria-label": "Copy this code" }, "Copy");
    button.addEventListener("click", async () => {
      button.textContent = (await site.copy(block.querySelector("code"))) ? "Copied" : "Press Ctrl-C";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.append(button);
  }
};

// copy copies code to the clipboard. Without permission, it selects the code.
site.copy = async function (code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    return false;
  }
};

// menu shows the list of pages on screens without a column for it.
site.menu = function () {
  const pages = document.getElementById("pages");
  const button = Unravel.element("button", { type: "button", className: "menu", "aria-controls": "pages", "aria-expanded": "false" }, "Menu");
  const open = (yes) => {
    pages.classList.toggle("open", yes);
    button.setAttribute("aria-expanded", String(yes));
    const top = document.querySelector(".top").getBoundingClientRect().bottom;
    pages.style.setProperty("--top", top + "px");
  };
  button.addEventListener("click", () => {
    open(!pages.classList.contains("open"));
    if (pages.classList.contains("open")) pages.querySelector("a").focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !pages.classList.contains("open")) return;
    open(false);
    button.focus();
  });
  document.querySelector("[data-menu-button]").append(button);
  const here = pages.querySelector("[aria-current]");
  if (here) pages.scrollTop = Math.max(0, here.offsetTop - pages.clientHeight / 2);
};

// follow marks the visible section in the table of contents.
site.follow = function () {
  const links = [...document.querySelectorAll(".contents a")];
  const sections = links.map((a) => document.getElementById(decodeURIComponent(a.hash.slice(1))));
  if (!links.length) return;
  let waiting = false;
  const mark = () => {
    waiting = false;
    const edge = innerHeight / 4;
    let here = -1;
    sections.forEach((s, i) => { if (s.getBoundingClientRect().top < edge) here = i; });
    links.forEach((a, i) => a.classList.toggle("here", i === here));
  };
  addEventListener("scroll", () => {
    if (!waiting) requestAnimationFrame(mark);
    waiting = true;
  }, { passive: true });
  mark();
};

site.copies();
site.menu();
site.follow();

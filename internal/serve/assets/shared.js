"use strict";

// Serve has the functions that all pages of unravel serve share.
const Serve = {};

// get reads JSON from an address below api/. It returns null for an answer without content, and throws the text of an error.
Serve.get = async function (name, parameters = {}) {
  const answer = await fetch("api/" + name + "?" + new URLSearchParams(parameters));
  if (answer.status === 202) return null;
  const type = answer.headers.get("Content-Type") || "";
  const value = type.startsWith("application/json") ? await answer.json() : { error: await answer.text() };
  if (!answer.ok) throw new Error(value.error);
  return value;
};

// fail shows or removes an error at the top of the page.
Serve.fail = function (text) {
  const place = document.getElementById("failure");
  place.textContent = text || "";
  place.hidden = !text;
};

// count writes a number of things: 1 run, 2 runs.
Serve.count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

// duration writes seconds in a readable form.
Serve.duration = function (seconds) {
  if (!(seconds >= 0)) return "";
  if (seconds < 60) return Unravel.format(seconds, seconds < 10 ? 2 : 3) + " s";
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return minutes + " min";
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
};

// moment writes a time of the server like reports.
Serve.moment = (text) => (text ? text.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:[\d.]+)?Z$/, "$1 $2 UTC") : "");

// state returns the element that shows a state.
Serve.state = (name) => Unravel.element("span", { className: "state " + name }, name);

// progress returns the bar of a run, or nothing before its start.
Serve.progress = function (run) {
  if (!run.epochs) return "";
  const bar = Unravel.element("progress", { max: 1, value: run.progress, "aria-label": "progress of training" });
  const early = run.state === "finished" && run.epoch > 0 && run.epoch < run.epochs ? ", stopped early" : "";
  return Unravel.element("span", {}, bar, ` ${run.epoch}/${run.epochs}${early}`);
};

// cell writes the value of a run in a column: rounded numbers and unchanged texts.
Serve.cell = function (text) {
  if (text === null || text === undefined) return "–";
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) && text.includes(".") ? Unravel.format(number) : text;
};

// while calls a function repeatedly, pause milliseconds after its last end, while the page is visible.
Serve.while = function (pause, call) {
  let timer = 0;
  async function turn() {
    clearTimeout(timer);
    timer = 0;
    await call();
    if (!document.hidden) timer = setTimeout(turn, pause);
  }
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && !timer) turn();
  });
  turn();
  return turn;
};

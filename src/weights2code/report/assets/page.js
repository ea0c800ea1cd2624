"use strict";
// The page's own behaviour: the colour theme, copying, and the box that runs the program.

(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("w2c-theme"); } catch { return null; } };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`); };
  if (stored() === "dark" || stored() === "light") root.dataset.theme = stored();
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("w2c-theme", root.dataset.theme); } catch { /* a page without storage forgets */ }
    label();
  });
  dark.addEventListener("change", label);
  label();

  for (const copy of document.querySelectorAll("button[data-copy]")) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      const code = document.getElementById(copy.dataset.copy);
      let done = true;
      try { await navigator.clipboard.writeText(code.textContent); } catch {
        const range = document.createRange();
        range.selectNodeContents(code);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        done = document.execCommand("copy");
      }
      copy.textContent = done ? "Copied" : "Selected";
      setTimeout(() => { copy.textContent = "Copy"; }, 1600);
    });
  }

  // a folded listing must not be missing on paper
  addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details:not(.no-print)")) d.open = true; });
})();

const LONGEST = 1000;

// Every variable at every position, for one array an input column.
function compute(machine, columns) {
  const told = machine.run(columns.length === 1 ? columns[0] : columns[0].map((_, t) => columns.map((column) => column[t])));
  return [...columns, ...machine.steps.map((_, k) => told.map((row) => (machine.steps.length === 1 ? row : row[k])))];
}

function reader(machine, values, t) {
  return (i, lag) => (t >= lag ? values[i][t - lag] : machine.start[i] === "first" ? values[i][0] : machine.start[i]);
}

// `scale`: the largest value beside it; what is nothing but its rounding error is shown as 0.
function show(value, scale = 0) {
  if (Math.abs(value) < 1e-12 * scale) return "0";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = Number.isInteger(value) && Math.abs(value) < 1e15 ? String(value + 0) : String(Number(value.toPrecision(6)));
  return text.replace("-", "−");
}

function startBox(machine, examples) {
  const fields = machine.domains.map((_, i) => document.getElementById(`column${i}`));
  const message = document.getElementById("message");
  const table = document.getElementById("steps");
  const working = document.getElementById("working");
  const where = document.getElementById("where");
  const result = [table, working];
  const [back, forward] = ["back", "forward"].map((id) => document.getElementById(id));
  let values = null;
  let now = 0;

  // Texts are numbered from 1 on; 0 is none, which lies before the start.
  const say = (i, value, scale = 0) => (machine.texts[i] ? machine.texts[i][value - 1] ?? "nothing" : show(value, scale));
  const parse = (text, i) => (machine.texts[i] ? parseTexts(text, i) : parseNumbers(text, machine.names[i]));
  const parseTexts = (text, i) => {
    const known = machine.texts[i];
    const tokens = text.split(/[,;\n]/.test(text) ? /[,;\n]+/ : known.some((word) => word.includes(" ")) ? /\n+/ : /\s+/).map((token) => token.trim().replace(/^"(.*)"$/, "$1")).filter((token) => token !== "");
    const wrong = tokens.find((token) => !known.includes(token));
    const listed = known.slice(0, 12).join(", ") + (known.length > 12 ? ", …" : "");
    if (wrong !== undefined) throw new Error(`“${wrong}” in ${machine.names[i]} is none of ${listed}.`);
    if (tokens.length === 0) throw new Error(`Type texts for ${machine.names[i]}, with commas between them: ${listed}.`);
    if (tokens.length > LONGEST) throw new Error(`${machine.names[i]} has more than ${LONGEST} texts; use program.py for longer sequences.`);
    return tokens.map((token) => known.indexOf(token) + 1);
  };
  const parseNumbers = (text, name) => {
    const bits = text.replace(/\btrue\b/gi, "1").replace(/\bfalse\b/gi, "0");
    const tokens = bits.replaceAll("−", "-").split(/[\s,;[\]()]+/).filter((token) => token !== "");
    const wrong = tokens.find((token) => !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(token));
    if (wrong !== undefined) throw new Error(`“${wrong}” in ${name} is not a number.`);
    const huge = tokens.find((token) => !Number.isFinite(Number(token)));
    if (huge !== undefined) throw new Error(`“${huge}” in ${name} is too large for a number.`);
    if (tokens.length === 0) throw new Error(`Type numbers for ${name}, separated by spaces or commas.`);
    if (tokens.length > LONGEST) throw new Error(`${name} has more than ${LONGEST} numbers; use program.py for longer sequences.`);
    return tokens.map(Number);
  };

  const outside = (columns) => {
    for (let i = 0; i < machine.inputs; i++) {
      const domain = machine.domains[i];
      const bad = columns[i].find((v) => v < domain.low || v > domain.high || (domain.discrete && !Number.isInteger(v)));
      if (bad !== undefined) return `${show(bad)} is outside ${machine.names[i]}: ${domain.words}; the verdict does not speak about such inputs.`;
    }
    return "";
  };

  const cell = (tag, text, kind = "") => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };

  const draw = () => {
    const head = document.createElement("tr");
    const corner = cell("th", "t");
    corner.scope = "row";
    head.append(corner, ...values[0].map((_, t) => { const made = cell("th", String(t)); made.scope = "col"; made.dataset.t = t; return made; }));
    const rows = values.map((line, i) => {
      const row = document.createElement("tr");
      const output = machine.outputs.includes(i);
      row.dataset.name = machine.names[i];
      if (output) row.className = "output";
      const name = cell("th", machine.names[i]);
      name.scope = "row";
      const scale = Math.max(...line.filter(Number.isFinite).map(Math.abs), 0);
      row.append(name, ...line.map((value, t) => {
        const made = cell("td", say(i, value, scale));
        made.dataset.t = t;
        made.dataset.value = String(value);
        made.title = `${machine.names[i]}[${t}] = ${machine.texts[i] ? say(i, value) : value}`;
        return made;
      }));
      return row;
    });
    const thead = document.createElement("thead");
    const tbody = document.createElement("tbody");
    thead.append(head);
    tbody.append(...rows);
    table.replaceChildren(thead, tbody);
  };

  // One line a step: its formula with the numbers of this position put in.
  const explain = () => {
    const read = reader(machine, values, now);
    for (const made of table.querySelectorAll("[data-t]")) made.classList.toggle("now", Number(made.dataset.t) === now);
    where.textContent = `t = ${now}`;
    back.disabled = now === 0;
    forward.disabled = now === values[0].length - 1;
    const pretty = (text) => text.replaceAll("!=", "≠").replaceAll("==", "=").replaceAll(">=", "≥").replaceAll("<=", "≤").replaceAll("*", "·").replaceAll(" - ", " − ");
    const fill = (step, write) => step.split("\u0001").map((part, k) => (k % 2 ? write(...part.split(",").map(Number)) : pretty(part))).join("");
    working.replaceChildren(...machine.steps.map((step, k) => {
      const index = machine.inputs + k;
      const inNames = fill(step, (i, lag) => `${machine.names[i]}[t${lag ? `−${lag}` : ""}]`);
      const inNumbers = fill(step, (i, lag) => { const v = read(i, lag); return machine.texts[i] ? `"${say(i, v)}"` : v < 0 ? `(${show(v)})` : show(v); });
      const line = document.createElement("li");
      const told = say(index, values[index][now]);
      const result = cell("b", told);
      line.append(`${machine.names[index]}[${now}] = ${inNames} = ${inNumbers === told || inNumbers === `"${told}"` ? "" : `${inNumbers} = `}`, result);
      return line;
    }));
  };

  const refresh = () => {
    try {
      const columns = fields.map((field, i) => parse(field.value, i));
      const lengths = new Set(columns.map((column) => column.length));
      if (lengths.size > 1) throw new Error(`Every line needs as many numbers: ${columns.map((c, i) => `${machine.names[i]} has ${c.length}`).join(", ")}.`);
      values = compute(machine, columns);
      message.textContent = outside(columns);
      message.className = "fair";
      result.forEach((part) => part.classList.remove("stale"));
      now = Math.min(now, columns[0].length - 1);
      draw();
      explain();
    } catch (error) {
      message.textContent = error.message;
      message.className = "bad";
      result.forEach((part) => part.classList.add("stale")); // what is shown belongs to an earlier input
    }
  };

  const go = (t) => {
    if (values === null || t < 0 || t >= values[0].length) return;
    now = t;
    explain();
    table.querySelector("thead .now").scrollIntoView({ block: "nearest", inline: "nearest" });
  };

  for (const field of fields) field.addEventListener("input", refresh);
  table.addEventListener("click", (event) => { const chosen = event.target.closest("[data-t]"); if (chosen) go(Number(chosen.dataset.t)); });
  table.parentElement.addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") { event.preventDefault(); go(now + (event.key === "ArrowRight" ? 1 : -1)); }
  });
  back.addEventListener("click", () => go(now - 1));
  forward.addEventListener("click", () => go(now + 1));
  let next = 0;
  const load = (columns) => { columns.forEach((column, i) => { fields[i].value = machine.texts[i] ? column.map((v) => (typeof v === "number" ? machine.texts[i][v - 1] : v)).join(", ") : column.join(" "); }); now = 1; refresh(); };
  const another = document.getElementById("another");
  another.hidden = examples.length < 2;
  another.addEventListener("click", () => { next = (next + 1) % examples.length; load(examples[next]); });
  for (const use of document.querySelectorAll("button[data-sequence]")) {
    use.hidden = false;
    use.addEventListener("click", () => { load(JSON.parse(use.dataset.sequence)); document.getElementById("try").scrollIntoView(); fields[0].focus({ preventScroll: true }); });
  }
  if (examples.length) load(examples[0]); else refresh();
}

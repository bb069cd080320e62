// SPDX-License-Identifier: Apache-2.0 OR MIT
// Groups of flows: a table for each, with a row per scheme.
"use strict";
// `before` is the element below the tables; `tools` are html and row of the page.
function groupTables(groups, before, tools) {
  groups.forEach((g) => {
    const box = tools.html("div");
    box.className = "scroll group";
    const table = tools.html("table", box);
    tools.html("caption", table, `group ${g.group}`);
    const heads = tools.html("tr", tools.html("thead", table));
    ["scheme", ...g.heads].forEach((text) => tools.html("th", heads, text));
    const body = tools.html("tbody", table);
    g.rows.forEach((r) => tools.row(body, r, r.cells));
    before.before(box);
  });
}

// Tables sort by a click on a head. Without this script they stand in the order of the report.
for (const table of document.querySelectorAll("table.sheet")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) => {
    const label = head.firstElementChild;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label.textContent;
    label.replaceWith(button);
    button.addEventListener("click", () => {
      const number = head.classList.contains("n");
      const up = head.getAttribute("aria-sort") === "descending" || (!number && !head.hasAttribute("aria-sort"));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => row.cells[at].dataset.key;
      const order = (a, b) => (number ? key(a) - key(b) : key(a).localeCompare(key(b)));
      const rows = [...table.tBodies[0].rows].sort((a, b) => (up ? order(a, b) : order(b, a)));
      table.tBodies[0].append(...rows);
    });
  });
}

// Tables of texts. All text goes in as text, never as HTML.

export function fillTable(table, names, rows) {
  const head = document.createElement("tr");
  for (const name of names) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = name;
    head.append(cell);
  }
  table.tHead.replaceChildren(head);
  table.tBodies[0].replaceChildren(
    ...rows.map((texts) => {
      const row = document.createElement("tr");
      for (const text of texts) {
        const cell = document.createElement("td");
        cell.textContent = text;
        row.append(cell);
      }
      return row;
    }),
  );
}

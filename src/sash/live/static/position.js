// What the reader looks at: key, line, zoom and time range. It is part of the address, so that a reload or a link keeps it.

const NAMES = ["key", "line", "zoom", "from", "to"];

export function readPosition() {
  const found = new URLSearchParams(location.hash.slice(1));
  const position = { key: found.get("key") ?? "", line: found.get("line") ?? "", zoom: found.get("zoom") ?? "", from: null, to: null };
  const from = Number(found.get("from") ?? NaN);
  const to = Number(found.get("to") ?? NaN);
  if (Number.isFinite(from) && Number.isFinite(to) && from < to) Object.assign(position, { from, to });
  return position;
}

export function writePosition(position) {
  const params = new URLSearchParams();
  for (const name of NAMES) if (position[name] !== null && position[name] !== "") params.set(name, position[name]);
  history.replaceState(null, "", `#${params}`);
}

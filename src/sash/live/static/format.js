// Numbers and times as text.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const FINE = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

export const whole = (value) => (value === null || !Number.isFinite(value) ? "–" : WHOLE.format(value));
export const number = (value) =>
  value === null || !Number.isFinite(value) ? "–" : Math.abs(value) >= 1000 ? WHOLE.format(value) : FINE.format(value);

export function bytes(value) {
  if (value === null) return "–";
  const units = ["B", "KB", "MB", "GB"];
  let place = 0;
  while (value >= 1000 && place < units.length - 1) {
    value /= 1000;
    place += 1;
  }
  return `${value < 10 && place ? value.toFixed(1) : Math.round(value)} ${units[place]}`;
}

export const seconds = (value) => (value === null ? "–" : value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(1)} s`);

export function moment(value, isTime) {
  if (!Number.isFinite(value)) return "–";
  return isTime ? new Date(value * 1000).toISOString().slice(0, 16).replace("T", " ") : number(value);
}

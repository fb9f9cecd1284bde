// Reads the messages that messages.py writes; the layout is documented there.

const MAGIC = 0x31464153; // "SAF1", little-endian
const TYPES = { f8: Float64Array, f4: Float32Array };

export function decode(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < 8 || view.getUint32(0, true) !== MAGIC) throw new Error("This is no message.");
  let place = 8 + view.getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, place - 8)));
  const columns = header.columns.map(([type, length]) => {
    const column = new TYPES[type](buffer, place, length);
    place += Math.ceil(column.byteLength / 8) * 8;
    return column;
  });
  return { header, columns };
}

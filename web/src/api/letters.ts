// In: bytes as letters, as a report carries them. Out: the bytes. Five letters are four bytes, of 85 that mean nothing in HTML.

/** The bytes of a text. It also runs in a worker, as text, so it uses nothing from outside of itself. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const values = new Uint8Array(128);
  let known = 0;
  for (let code = 33; code < 127; code += 1) if (!"\"$&'<>\\`~".includes(String.fromCharCode(code))) values[code] = known++;
  const bytes = new Uint8Array(Math.floor((text.length * 4) / 5));
  let at = 0;
  for (let n = 0; n < text.length; n += 5) {
    let word = 0;
    // What is missing behind the last letter counts as the highest, since it was cut off as zeros.
    for (let k = n; k < n + 5; k += 1) word = word * 85 + (k < text.length ? (values[text.charCodeAt(k)] ?? 0) : 84);
    for (let shift = 24; shift >= 0 && at < bytes.length; shift -= 8) bytes[at++] = word >>> shift;
  }
  return bytes;
}

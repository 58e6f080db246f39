const CHECKSUM_SYMBOLS = 6;
const MAX_PREFIX = 83;

/**
 * What is wrong with a text that is no bech32 of a right checksum (BIP-173): the first of its rules that is broken, in
 * the order and the words clients of KDF see (reference rpc.md 4.8 row 2).
 */
export function bech32Fault(text: string): string {
  const separator = text.lastIndexOf("1");
  if (separator < 0) return 'missing human-readable separator, "1"';
  const prefix = text.slice(0, separator);
  const data = text.slice(separator + 1);
  if (prefix === "" || prefix.length > MAX_PREFIX) return "invalid length";
  return wrongChar(prefix, /[^\x21-\x7e]/u) ?? wrongChar(data, /[^a-z0-9]|[1bio]/iu) ?? wrongWhole(text, data);
}

/** `wrong`: what may not stand there. Data has the letters and digits without 1, b, i and o. */
function wrongChar(part: string, wrong: RegExp): string | null {
  const found = wrong.exec(part);
  return found ? `invalid character (code=${found[0].codePointAt(0)})` : null;
}

function wrongWhole(text: string, data: string): string {
  if (text !== text.toLowerCase() && text !== text.toUpperCase()) return "mixed-case strings not allowed";
  return data.length < CHECKSUM_SYMBOLS ? "invalid length" : "invalid checksum";
}

/** DER (ITU-T X.690) of the few types a certificate is made of. */

function tagged(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  if (content.length < 0x80) return Buffer.from([tag, content.length, ...content]);
  const length = content.length < 0x100 ? [0x81, content.length] : [0x82, content.length >> 8, content.length & 0xff];
  if (content.length > 0xffff) throw new RangeError("der: longer than a certificate of ours can be");
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

export const sequence = (...items: readonly Uint8Array[]): Buffer => tagged(0x30, ...items);
export const setOf = (item: Uint8Array): Buffer => tagged(0x31, item);
/** Big-endian and unsigned. */
export const integer = (bytes: Uint8Array): Buffer => tagged(0x02, Uint8Array.of(0).subarray((bytes[0] ?? 0) < 0x80 ? 1 : 0), bytes);
export const boolean = (value: boolean): Buffer => tagged(0x01, Uint8Array.of(value ? 0xff : 0));
export const octets = (bytes: Uint8Array): Buffer => tagged(0x04, bytes);
/** @param unused bits of the last byte that do not count */
export const bits = (bytes: Uint8Array, unused = 0): Buffer => tagged(0x03, Uint8Array.of(unused), bytes);
export const utf8 = (text: string): Buffer => tagged(0x0c, Buffer.from(text, "utf8"));
export const nothing = (): Buffer => tagged(0x05);
/** `[number]` around a whole value. */
export const explicit = (number: number, item: Uint8Array): Buffer => tagged(0xa0 + number, item);
/** `[number]` in place of the tag of a value without parts. */
export const implicit = (number: number, content: Uint8Array): Buffer => tagged(0x80 + number, content);

/** Dotted decimal. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const base128 = (value: number): number[] => (value < 0x80 ? [value] : [...base128(value >> 7).map((b) => b | 0x80), value & 0x7f]);
  return tagged(0x06, Uint8Array.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** A time of X.509 (RFC 5280, 4.1.2.5): two digits for the year until 2049, four from 2050 on. */
export function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, "");
  return text < "2050" ? tagged(0x17, Buffer.from(text.slice(2))) : tagged(0x18, Buffer.from(text));
}

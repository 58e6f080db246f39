import { createPublicKey, ECDH, verify } from "node:crypto";

/**
 * A second reader of everything this network writes, made from the tables of the wire reference and not from the
 * product's codec. It is strict where KDF's writer is: shortest forms only, nothing left over.
 */

/** A MessagePack value with its kind kept: `bin` and an array of integers are different things here. */
export type Node =
  | { readonly kind: "nil" }
  | { readonly kind: "bool"; readonly value: boolean }
  | { readonly kind: "int"; readonly value: bigint }
  | { readonly kind: "str"; readonly value: string }
  | { readonly kind: "bin"; readonly value: Buffer }
  | { readonly kind: "array"; readonly items: readonly Node[] }
  | { readonly kind: "map"; readonly entries: readonly (readonly [Node, Node])[] };

export function readMsgpack(bytes: Uint8Array): Node {
  const view = Buffer.from(bytes);
  let at = 0;
  const take = (n: number): Buffer => {
    if (at + n > view.length) throw new Error("cut off");
    at += n;
    return view.subarray(at - n, at);
  };
  /** A length or number that must not fit a shorter form: `least` is the smallest value this form is for. */
  const sized = (n: 1 | 2 | 4 | 8, least: bigint): bigint => {
    const value = BigInt(`0x${take(n).toString("hex")}`);
    if (value < least) throw new Error(`not the shortest form: ${value} in ${n} bytes`);
    return value;
  };
  const array = (n: number): Node => ({ kind: "array", items: Array.from({ length: n }, () => value()) });
  const map = (n: number): Node => ({ kind: "map", entries: Array.from({ length: n }, () => [value(), value()] as const) });
  const str = (n: number): Node => ({ kind: "str", value: new TextDecoder("utf-8", { fatal: true }).decode(take(n)) });
  const value = (): Node => {
    const m = take(1).readUInt8();
    if (m < 0x80) return { kind: "int", value: BigInt(m) };
    if (m < 0x90) return map(m & 15);
    if (m < 0xa0) return array(m & 15);
    if (m < 0xc0) return str(m & 31);
    if (m >= 0xe0) return { kind: "int", value: BigInt(m) - 256n };
    switch (m) {
      case 0xc0:
        return { kind: "nil" };
      case 0xc2:
      case 0xc3:
        return { kind: "bool", value: m === 0xc3 };
      case 0xc4:
        return { kind: "bin", value: take(Number(sized(1, 0n))) };
      case 0xc5:
        return { kind: "bin", value: take(Number(sized(2, 1n << 8n))) };
      case 0xcc:
        return { kind: "int", value: sized(1, 1n << 7n) };
      case 0xcd:
        return { kind: "int", value: sized(2, 1n << 8n) };
      case 0xce:
        return { kind: "int", value: sized(4, 1n << 16n) };
      case 0xcf:
        return { kind: "int", value: sized(8, 1n << 32n) };
      case 0xd9:
        return str(Number(sized(1, 32n)));
      case 0xda:
        return str(Number(sized(2, 1n << 8n)));
      case 0xdc:
        return array(Number(sized(2, 16n)));
      case 0xdd:
        return array(Number(sized(4, 1n << 16n)));
      case 0xde:
        return map(Number(sized(2, 16n)));
      default:
        throw new Error(`marker ${m.toString(16)} is never written`);
    }
  };
  const whole = value();
  if (at !== view.length) throw new Error("bytes left over");
  return whole;
}

const isByte = (node: Node): boolean => node.kind === "int" && node.value >= 0n && node.value < 256n;
const itemsOf = (node: Node | undefined): readonly Node[] => {
  if (node?.kind !== "array") throw new Error(`array expected, found ${node?.kind}`);
  return node.items;
};

/** `[[sign, [limbs]], [sign, [limbs]]]`: checked to be what KDF writes, in lowest terms with a positive denominator. */
function isRational(node: Node): boolean {
  if (node.kind !== "array" || node.items.length !== 2) return false;
  return node.items.every((half) => {
    if (half.kind !== "array" || half.items.length !== 2) return false;
    const [sign, limbs] = half.items;
    return (
      sign?.kind === "int" && sign.value >= -1n && sign.value <= 1n && limbs?.kind === "array" && limbs.items.every((l) => l.kind === "int")
    );
  });
}

export function rationalOf(node: Node | undefined): { readonly n: bigint; readonly d: bigint } {
  const [n, d] = itemsOf(node).map((half) => {
    const [sign, limbs] = itemsOf(half);
    if (sign?.kind !== "int") throw new Error("sign expected");
    const magnitude = itemsOf(limbs).reduceRight((sum, limb) => (sum << 32n) | (limb.kind === "int" ? limb.value : 0n), 0n);
    return sign.value * magnitude;
  });
  if (n === undefined || d === undefined) throw new Error("rational expected");
  return { n, d };
}

/**
 * The form of a value as one line: which kinds stand where, lengths of fixed byte fields, enum indexes. Two messages of
 * one type by two writers have the same form, whatever they say.
 */
export function formOf(node: Node): string {
  switch (node.kind) {
    case "nil":
    case "bool":
    case "str":
      return node.kind;
    case "int":
      return "int";
    case "bin":
      return `bin${node.value.length}`;
    case "map":
      return `{${node.entries.map(([k, v]) => `${k.kind === "int" ? k.value : formOf(k)}: ${formOf(v)}`).join(", ")}}`;
    case "array":
      if (isRational(node)) return "rational";
      if (node.items.every(isByte) && (node.items.length >= 8 || node.items.length === 0)) return lengthOf(node.items.length);
      return `[${node.items.map(formOf).join(", ")}]`;
  }
}
/** Lengths that mean something on this wire are kept: roots, hashes, keys, nothing at all. */
const lengthOf = (n: number): string => ([0, 8, 20, 32, 33].includes(n) ? `ints${n}` : "ints");

export const bytesOf = (node: Node | undefined): Buffer => {
  if (node?.kind === "bin") return node.value;
  return Buffer.from(itemsOf(node).map((item) => (item.kind === "int" ? Number(item.value) : Number.NaN)));
};

/** `{index: value}`: an enum. */
export function variantOf(node: Node): { readonly index: number; readonly value: Node } {
  const [entry] = node.kind === "map" ? node.entries : [];
  if (node.kind !== "map" || node.entries.length !== 1 || entry?.[0].kind !== "int") throw new Error("enum expected");
  return { index: Number(entry[0].value), value: entry[1] };
}

export const fieldsOf = itemsOf;

export type ProtoField = { readonly field: number; readonly varint?: bigint; readonly bytes?: Buffer };

/** Protobuf fields in the order they stand. */
export function readProto(bytes: Uint8Array): readonly ProtoField[] {
  const view = Buffer.from(bytes);
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = view.readUInt8(at++);
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const fields: ProtoField[] = [];
  while (at < view.length) {
    const key = Number(varint());
    if (key % 8 === 0) fields.push({ field: key >> 3, varint: varint() });
    else if (key % 8 === 2) {
      const length = Number(varint());
      fields.push({ field: key >> 3, bytes: view.subarray(at, at + length) });
      at += length;
      if (at > view.length) throw new Error("cut off");
    } else throw new Error(`wire type ${key % 8}`);
  }
  return fields;
}

/** Root of one key's orders in one pair, worked out by the rules of section 10 with another Blake2b than the product's. */
export function rootOf(leaves: readonly { readonly uuid: string; readonly item: Buffer }[]): Buffer {
  const compact = (n: number): Buffer => {
    if (n < 64) return Buffer.from([n << 2]);
    const out = Buffer.alloc(n < 1 << 14 ? 2 : 4);
    if (n < 1 << 14) out.writeUInt16LE((n << 2) | 1);
    else out.writeUInt32LE((n << 2) | 2);
    return out;
  };
  const header = (mask: number, nibbles: string): Buffer => {
    const padded = nibbles.length % 2 === 0 ? nibbles : `0${nibbles}`;
    return Buffer.concat([Buffer.from([mask | nibbles.length]), Buffer.from(padded, "hex")]);
  };
  const node = (below: readonly { readonly key: string; readonly item: Buffer }[]): Buffer => {
    const [first] = below;
    if (first === undefined) return Buffer.from([0]);
    if (below.length === 1) return Buffer.concat([header(0x40, first.key), compact(first.item.length), first.item]);
    let shared = 0;
    while (below.every(({ key }) => key[shared] === first.key[shared])) shared++;
    const bitmap = Buffer.alloc(2);
    const children: Buffer[] = [];
    for (let nibble = 0; nibble < 16; nibble++) {
      const digit = nibble.toString(16);
      const under = below.filter(({ key }) => key[shared] === digit).map(({ key, item }) => ({ key: key.slice(shared + 1), item }));
      if (under.length === 0) continue;
      bitmap.writeUInt16LE(bitmap.readUInt16LE() | (1 << nibble));
      const encoded = node(under);
      const ref = encoded.length < 8 ? encoded : blake2b8(encoded);
      children.push(compact(ref.length), ref);
    }
    return Buffer.concat([header(0x80, first.key.slice(0, shared)), bitmap, ...children]);
  };
  return blake2b8(node(leaves.map(({ uuid, item }) => ({ key: uuid.replaceAll("-", ""), item }))));
}

/** The bytes of a value as KDF writes it: shortest forms. */
export function writeMsgpack(node: Node): Buffer {
  const head = (fix: number, fixMax: number, long: number, length: number): Buffer => {
    if (length <= fixMax) return Buffer.from([fix | length]);
    const out = Buffer.from([long, 0, 0]);
    out.writeUInt16BE(length, 1);
    return out;
  };
  switch (node.kind) {
    case "nil":
      return Buffer.from([0xc0]);
    case "bool":
      return Buffer.from([node.value ? 0xc3 : 0xc2]);
    case "int": {
      if (node.value < 0n) return Buffer.from([Number(256n + node.value)]);
      if (node.value < 128n) return Buffer.from([Number(node.value)]);
      const [marker, size] =
        node.value < 1n << 8n ? [0xcc, 1] : node.value < 1n << 16n ? [0xcd, 2] : node.value < 1n << 32n ? [0xce, 4] : [0xcf, 8];
      return Buffer.concat([Buffer.from([marker]), Buffer.from(node.value.toString(16).padStart(size * 2, "0"), "hex")]);
    }
    case "str": {
      const text = Buffer.from(node.value);
      const start = text.length < 32 ? Buffer.from([0xa0 | text.length]) : Buffer.from([0xd9, text.length]);
      return Buffer.concat([start, text]);
    }
    case "bin":
      return Buffer.concat([Buffer.from([0xc4, node.value.length]), node.value]);
    case "array":
      return Buffer.concat([head(0x90, 15, 0xdc, node.items.length), ...node.items.map(writeMsgpack)]);
    case "map":
      return Buffer.concat([head(0x80, 15, 0xde, node.entries.length), ...node.entries.flat().map(writeMsgpack)]);
  }
}

const MASK = (1n << 64n) - 1n;
const IV = [
  0x6a09e667f3bcc908n,
  0xbb67ae8584caa73bn,
  0x3c6ef372fe94f82bn,
  0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n,
  0x9b05688c2b3e6c1fn,
  0x1f83d9abfb41bd6bn,
  0x5be0cd19137e2179n,
];
const SIGMA = [
  "0123456789abcdef",
  "ea489fd61c02b753",
  "b8c052fdae367194",
  "7931dcbe265a40f8",
  "905724afe1bc683d",
  "2c6a0b834d75fe19",
  "c51fed4a0763928b",
  "db7ec13950f4862a",
  "6fe9b308c2d714a5",
  "a2847615fb9e3cd0",
];

/** Blake2b with a digest of 8 bytes and no key (RFC 7693), slow and plain. */
export function blake2b8(data: Uint8Array): Buffer {
  const rotate = (x: bigint, n: bigint): bigint => ((x >> n) | (x << (64n - n))) & MASK;
  const h = IV.map((word, i) => (i === 0 ? word ^ 0x01010008n : word));
  const blocks = Math.max(1, Math.ceil(data.length / 128));
  for (let b = 0; b < blocks; b++) {
    const block = Buffer.alloc(128);
    block.set(data.subarray(b * 128, b * 128 + 128));
    const m = Array.from({ length: 16 }, (_, i) => block.readBigUInt64LE(i * 8));
    const isLast = b === blocks - 1;
    const v = [...h, ...IV];
    v[12] = (v[12] ?? 0n) ^ BigInt(isLast ? data.length : (b + 1) * 128);
    if (isLast) v[14] = (v[14] ?? 0n) ^ MASK;
    const mix = (a: number, bb: number, c: number, d: number, x: bigint, y: bigint): void => {
      const w = (i: number): bigint => v[i] ?? 0n;
      v[a] = (w(a) + w(bb) + x) & MASK;
      v[d] = rotate(w(d) ^ w(a), 32n);
      v[c] = (w(c) + w(d)) & MASK;
      v[bb] = rotate(w(bb) ^ w(c), 24n);
      v[a] = (w(a) + w(bb) + y) & MASK;
      v[d] = rotate(w(d) ^ w(a), 16n);
      v[c] = (w(c) + w(d)) & MASK;
      v[bb] = rotate(w(bb) ^ w(c), 63n);
    };
    for (let round = 0; round < 12; round++) {
      const s = [...(SIGMA[round % 10] ?? "")].map((digit) => m[Number.parseInt(digit, 16)] ?? 0n);
      [
        [0, 4, 8, 12],
        [1, 5, 9, 13],
        [2, 6, 10, 14],
        [3, 7, 11, 15],
        [0, 5, 10, 15],
        [1, 6, 11, 12],
        [2, 7, 8, 13],
        [3, 4, 9, 14],
      ].forEach(([a = 0, bb = 0, c = 0, d = 0], i) => {
        mix(a, bb, c, d, s[2 * i] ?? 0n, s[2 * i + 1] ?? 0n);
      });
    }
    h.forEach((word, i) => {
      h[i] = word ^ (v[i] ?? 0n) ^ (v[i + 8] ?? 0n);
    });
  }
  const out = Buffer.alloc(8);
  out.writeBigUInt64LE(h[0] ?? 0n);
  return out;
}

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** ECDSA over SHA-256 of `payload` by a compressed secp256k1 key, r||s with the lower s; OpenSSL does the arithmetic. */
export function isSignedBy(key: Buffer, signature: Buffer, payload: Buffer): boolean {
  const point = ECDH.convertKey(key, "secp256k1", undefined, undefined, "uncompressed") as Buffer;
  const half = (start: number): string => point.subarray(start, start + 32).toString("base64url");
  const publicKey = createPublicKey({ key: { kty: "EC", crv: "secp256k1", x: half(1), y: half(33) }, format: "jwk" });
  const isLow = BigInt(`0x${signature.subarray(32).toString("hex")}`) <= CURVE_ORDER / 2n;
  return isLow && verify("sha256", payload, { key: publicKey, dsaEncoding: "ieee-p1363" }, signature);
}

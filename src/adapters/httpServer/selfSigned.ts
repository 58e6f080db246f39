import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { isIP } from "node:net";
import { bits, boolean, explicit, implicit, integer, nothing, octets, oid, sequence, setOf, time, utf8 } from "./der.ts";

const DAY_MS = 86_400_000;
/** There is nobody who would renew it. Clients that take no certificate of so many years need one of your own. */
const VALID_DAYS = 3_650;
/** Names one certificate carries. */
const MAX_NAMES = 110;

/** Signature algorithms by the kind of key (RFC 5758, RFC 4055). */
const ALGORITHMS: { readonly [keyType: string]: () => Buffer } = {
  ec: () => sequence(oid("1.2.840.10045.4.3.2")),
  rsa: () => sequence(oid("1.2.840.113549.1.1.11"), nothing()),
};

/** A new P-256 key, PKCS #8 in PEM. */
export const newKeyPem = (): string =>
  generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();

/**
 * A certificate of a key for itself (RFC 5280), for TLS servers: ten years from a day ago, so that a clock behind ours
 * takes it, too. PEM.
 *
 * @param keyPem an EC or RSA key
 * @param names DNS names and IP addresses; others are left out
 * @throws for a text that is no key, or a key of another kind
 */
export function selfSignedCertificate(keyPem: string, names: readonly string[], nowMs: number): string {
  const key = createPrivateKey(keyPem);
  const algorithm = ALGORITHMS[key.asymmetricKeyType ?? ""]?.();
  if (algorithm === undefined) throw new Error(`a key of type ${key.asymmetricKeyType} cannot sign a certificate here`);
  const publicKey = createPublicKey(key).export({ type: "spki", format: "der" });
  const own = sequence(setOf(sequence(oid("2.5.4.3"), utf8("swapnode RPC"))));
  const facts = sequence(
    explicit(0, integer(Uint8Array.of(2))),
    integer(serial(publicKey, nowMs)),
    algorithm,
    own,
    sequence(time(nowMs - DAY_MS), time(nowMs + VALID_DAYS * DAY_MS)),
    own,
    publicKey,
    explicit(3, sequence(...extensions(names))),
  );
  return pem(sequence(facts, algorithm, bits(signed(facts, key))));
}

const signed = (facts: Uint8Array, key: KeyObject): Buffer => sign("sha256", facts, key);

/** Another one for each key and time; 16 bytes, positive. */
function serial(publicKey: Uint8Array, nowMs: number): Uint8Array {
  const bytes = Uint8Array.from(createHash("sha256").update(publicKey).update(String(nowMs)).digest().subarray(0, 16));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

function extensions(names: readonly string[]): Buffer[] {
  const extension = (id: string, critical: boolean, value: Uint8Array): Buffer =>
    sequence(oid(id), ...(critical ? [boolean(true)] : []), octets(value));
  const alternatives = [...new Set(names)].slice(0, MAX_NAMES).flatMap(alternative);
  return [
    // No authority: it vouches for nobody but itself. Digital signatures only, to authenticate a server.
    extension("2.5.29.19", true, sequence()),
    extension("2.5.29.15", true, bits(Uint8Array.of(0x80), 7)),
    extension("2.5.29.37", false, sequence(oid("1.3.6.1.5.5.7.3.1"))),
    extension("2.5.29.17", false, sequence(...alternatives)),
  ];
}

function alternative(name: string): Buffer[] {
  const kind = isIP(name);
  if (kind === 4) return [implicit(7, Uint8Array.from(name.split(".").map(Number)))];
  if (kind === 6) return name.includes("%") ? [] : [implicit(7, ipv6Bytes(name))];
  return /^[\x21-\x7e]{1,253}$/.test(name) ? [implicit(2, Buffer.from(name, "ascii"))] : [];
}

function ipv6Bytes(address: string): Uint8Array {
  // Written by the rules of URLs it has hexadecimal groups only, and one gap at most.
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = [], tail = []] = text.split("::").map((part) => part.split(":").filter((group) => group !== ""));
  const gap = new Array<string>(8 - head.length - tail.length).fill("0");
  return Uint8Array.from(
    [...head, ...gap, ...tail].flatMap((group) => {
      const value = Number.parseInt(group, 16);
      return [value >> 8, value & 0xff];
    }),
  );
}

const pem = (der: Uint8Array): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(der).toString("base64").replace(/.{64}/g, "$&\n").trimEnd()}\n-----END CERTIFICATE-----\n`;

import type { ConfigSource } from "./configSources.ts";
import { unknownKeyText } from "./nearestName.ts";
import { type KdfFields, kdfSchema } from "./schema.ts";

type Fields = { readonly [key: string]: unknown };

const NO_KEYS =
  "neither passphrase nor wallet_name is set: this node has no keys. It shows the order book and trades nothing; set one of them and start it again to trade";

export const isLoopback = (ip: string): boolean => /^127\./.test(ip) || ip === "::1" || /^::ffff:127\./i.test(ip);

const LEVELS = ["trace", "debug", "info", "warn", "error"];

/** A level that is none would silently mean `info`. Filters for single modules are KDF's, and have no meaning here. */
function logWarnings(rustLog: string): string[] {
  const bare = rustLog.split(",").filter((part) => part !== "" && !part.includes("="));
  const unknown = bare.find((part) => !LEVELS.includes(part.trim().toLowerCase()));
  if (unknown === undefined) return [];
  return [`RUST_LOG: ${JSON.stringify(unknown.slice(0, 40))} is none of ${LEVELS.join(", ")}; what it is meant to show may be missing`];
}

/** Whoever can reach the address can try passwords, and sees the replies unless `https` is on. */
function addressWarnings({ rpcip, https }: KdfFields): string[] {
  if (isLoopback(rpcip)) return [];
  const seen = https === true ? "" : ", and what is said there can be read on the way";
  return [
    `rpcip ${rpcip}: the RPC can be reached from other machines${seen}. Leave it at 127.0.0.1 unless a firewall or a proxy stands before it`,
  ];
}

function secretWarnings(raw: Fields, source: ConfigSource): string[] {
  const held = (["passphrase", "wallet_password"] as const).filter((key) => (raw[key] ?? null) !== null);
  if (!source.readableByOthers || held.length === 0) return [];
  const what = held.map((key) => (key === "passphrase" ? "the passphrase" : "the wallet password")).join(" and ");
  return source.kind === "argument"
    ? [
        `${what} ${held.length > 1 ? "were" : "was"} given as an argument: every user of this machine can read it in the list of processes. Use MM2.json with mode 0600, or standard input`,
      ]
    : [`${source.name} holds ${what} and can be read by other users: chmod 600 ${source.name}`];
}

/**
 * What a good configuration has in it that its owner may not mean.
 * @param rustLog what decides the level of the log, where that is left to it
 */
export function configWarnings(raw: Fields, fields: KdfFields, source: ConfigSource, rustLog: string): readonly string[] {
  const known = Object.keys(kdfSchema.shape);
  const unknown = Object.keys(raw).filter((key) => !known.includes(key));
  const isKeyless = fields.passphrase === undefined && fields.wallet_name === undefined;
  return [
    ...(isKeyless ? [NO_KEYS] : []),
    ...secretWarnings(raw, source),
    ...addressWarnings(fields),
    ...logWarnings(rustLog),
    ...unknown.slice(0, 20).map((key) => unknownKeyText(key, source.name, known)),
  ];
}

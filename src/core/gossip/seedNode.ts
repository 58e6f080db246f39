import { err, ok, type Result } from "../util/result.ts";
import { parsePeerIdText } from "./peerId.ts";
import type { NetidPorts } from "./ports.ts";

/** One entry of `seednodes`. `address` is a multiaddress with the pin, if there is one, at its end. */
export type SeedNode = { readonly address: string; readonly pin?: string };

export type SeedNodeError = { readonly kind: "BadSeedNode"; readonly entry: string; readonly why: string };

const MAX_ENTRY_LENGTH = 300;
const MULTIADDRESS = /^(\/memory\/\d{1,10}|\/(?:ip4|ip6|dns|dns4|dns6)\/[0-9A-Za-z.:-]{1,253}\/tcp\/\d{1,5}(?:\/wss|\/ws|\/tls\/ws)?)$/;
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const DOMAIN = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/;

/**
 * Reads a seed node: an IPv4 address or lower-case domain as in the reference (dialled at the netid's tcp port), or a
 * multiaddress (ours). Either may end in `/p2p/<peer id>`, which is then enforced.
 */
export function parseSeedNode(entry: string, ports: NetidPorts): Result<SeedNode, SeedNodeError> {
  const bad = (why: string): Result<never, SeedNodeError> => err({ kind: "BadSeedNode", entry: entry.slice(0, MAX_ENTRY_LENGTH), why });
  if (entry.length > MAX_ENTRY_LENGTH) return bad(`longer than ${MAX_ENTRY_LENGTH} characters`);
  const at = entry.indexOf("/p2p/");
  const pin = at < 0 ? undefined : entry.slice(at + 5);
  if (pin !== undefined && !parsePeerIdText(pin).ok) return bad("what follows /p2p/ is no ed25519 or secp256k1 peer id");
  const host = at < 0 ? entry : entry.slice(0, at);
  const address = hostToAddress(host, ports);
  if (address === undefined) return bad("neither an IPv4 address, a lower-case domain name nor a tcp, ws or wss multiaddress");
  return ok(pin === undefined ? { address } : { address: `${address}/p2p/${pin}`, pin });
}

function hostToAddress(host: string, ports: NetidPorts): string | undefined {
  if (host.startsWith("/")) return MULTIADDRESS.test(host) ? host : undefined;
  if (IPV4.test(host)) return host.split(".").every((part) => Number(part) <= 255) ? `/ip4/${host}/tcp/${ports.tcp}` : undefined;
  return DOMAIN.test(host) ? `/dns/${host}/tcp/${ports.tcp}` : undefined;
}
